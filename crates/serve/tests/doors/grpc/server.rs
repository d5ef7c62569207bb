//! A server on a port of its own, and calls to it.

use std::net::SocketAddr;

use http::uri::PathAndQuery;
use prost::Message;
use tollgate_limit::Cost;
use tollgate_node::Key;
use tollgate_serve::engine::EngineRequest;
use tollgate_serve::run::{self, Running};
use tollgate_serve::settings::{ContractSource, Keeping, Listener, RlsSettings, Settings};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// A server that runs until the test ends.
pub(crate) struct GrpcServer {
    running: Running,
}

impl GrpcServer {
    /// A server that decides by these contracts, or rules.
    pub(crate) fn start(contracts: &str) -> Self {
        Self::with(contracts, Settings::default())
    }

    /// The same, with other settings.
    pub(crate) fn with(contracts: &str, settings: Settings) -> Self {
        let settings = Settings {
            http: vec![Listener::loopback()],
            contracts: ContractSource::Text(contracts.to_owned()),
            ..settings
        };
        let running = run::start(settings).expect("a server");
        Self { running }
    }

    /// A server that follows contracts at a source with this name.
    pub(crate) fn following(place: &str) -> Self {
        Self::following_by(place, RlsSettings::default())
    }

    /// The same, with other settings of imported rules.
    pub(crate) fn following_by(place: &str, rls: RlsSettings) -> Self {
        let settings = Settings {
            http: vec![Listener::loopback()],
            contracts: ContractSource::named(place.into()),
            keeping: Keeping {
                rls,
                ..Keeping::default()
            },
            ..Settings::default()
        };
        let running = run::start(settings).expect("a server");
        Self { running }
    }

    /// Reads everything again, as upon a signal.
    pub(crate) fn reload(&self) {
        self.running.reload().expect("read");
    }

    pub(crate) const fn running(&self) -> &Running {
        &self.running
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.running.http().expect("an address")
    }

    /// Starts draining: reports itself as unavailable, and serves on for as long as the settings say.
    pub(crate) fn leave(&self) {
        self.running.leave();
    }

    /// What the policies that bind a key say it owes.
    pub(crate) fn owes(&self, entries: &[(&str, &str)]) -> Vec<u64> {
        let turn = self.running.shared().engine.turn();
        let ask = EngineRequest::new(Key::Entries(entries), Cost::PEEK);
        let standings = turn.standings(&ask, None).expect("all contracts");
        standings.iter().map(|one| one.status.debt).collect()
    }

    /// Stops it, which lets calls finish.
    pub(crate) fn stop(self) {
        self.running.stop().expect("stopped");
    }

    /// A connection for generated clients.
    pub(crate) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.at())).expect("an endpoint");
        endpoint.connect().await.expect("a connection")
    }

    /// Calls a method by its path.
    pub(crate) async fn call<Q, A>(
        &self,
        path: &'static str,
        question: Q,
    ) -> Result<A, tonic::Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        self.send(path, tonic::Request::new(question)).await
    }

    /// The same with a token.
    pub(crate) async fn call_by<Q, A>(
        &self,
        path: &'static str,
        question: Q,
        token: &str,
    ) -> Result<A, tonic::Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut request = tonic::Request::new(question);
        let shown = format!("Bearer {token}").parse().expect("a value");
        request.metadata_mut().insert("authorization", shown);
        self.send(path, request).await
    }

    async fn send<Q, A>(
        &self,
        path: &'static str,
        request: tonic::Request<Q>,
    ) -> Result<A, tonic::Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut grpc = Grpc::new(self.channel().await);
        grpc.ready().await.expect("ready");
        let path = PathAndQuery::from_static(path);
        let codec = ProstCodec::<Q, A>::default();
        let answer = grpc.unary(request, path, codec).await;
        answer.map(tonic::Response::into_inner)
    }
}
