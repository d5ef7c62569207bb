//! Many assignments at once; all of them or none.

use serde_json::json;
use tollgate_catalogue::Assignment;
use tollgate_catalogue_sql::Imported;

use super::objects::in_force;
use crate::answer::Reply;
use crate::body;
use crate::call::Call;
use crate::fault::Fault;

/// `POST /assignments/import`.
pub(crate) async fn import(call: &Call) -> Result<Reply, Fault> {
    let database = call.database()?;
    let (author, reason) = (&call.caller.name, call.reason()?);
    let documents = body::documents(call.request.headers(), call.request.body())?;
    if documents.len() > DOCUMENTS_MAX {
        let what = format!(
            "at most {DOCUMENTS_MAX} assignments come at once; send the rest in another request"
        );
        return Err(Fault::invalid(what));
    }
    let mut importer = database.import(author, &reason);
    for (number, text) in documents {
        let place = format!("line {number}: ");
        Assignment::read(&text).map_err(|errors| Fault::from(&errors).at(&place))?;
        importer.add(text).await?;
    }
    let Imported {
        made,
        same,
        revision,
    } = importer.finish().await?;
    call.audit(
        "import",
        "assignments",
        &format!("{made} made, {same} there before"),
    )
    .await;
    Ok(Reply::json(
        &json!({ "made": made, "same": same, "revision": revision, "in_force": in_force(call, revision).await }),
    ))
}

/// As many as one transaction takes.
const DOCUMENTS_MAX: usize = 1999;
