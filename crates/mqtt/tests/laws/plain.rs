//! An encoder that follows the standard field by field.

#![allow(clippy::cast_possible_truncation, reason = "digits of numbers")]

#[derive(Clone, Debug)]
pub(super) struct Publish {
    pub(super) five: bool,
    pub(super) flags: u8,
    pub(super) topic: String,
    pub(super) id: u16,
    pub(super) alias: Option<u16>,
    pub(super) pairs: Vec<(String, String)>,
    pub(super) payload: Vec<u8>,
}

#[derive(Clone, Debug)]
pub(super) struct Connect {
    pub(super) five: bool,
    pub(super) clean: bool,
    pub(super) keep_alive: u16,
    pub(super) client: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<Vec<u8>>,
    pub(super) will: Option<(String, Vec<u8>)>,
    pub(super) pairs: Vec<(String, String)>,
}

pub(super) fn length(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let digit = (value % 128) as u8;
        value /= 128;
        out.push(if value > 0 { digit + 128 } else { digit });
        if value == 0 {
            return out;
        }
    }
}

pub(super) fn binary(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len();
    let mut out = vec![(length / 256) as u8, (length % 256) as u8];
    out.extend(bytes);
    out
}

pub(super) fn pairs(pairs: &[(String, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in pairs {
        out.push(38);
        out.extend(binary(name.as_bytes()));
        out.extend(binary(value.as_bytes()));
    }
    out
}

pub(super) fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    out.extend(length(body.len()));
    out.extend(body);
    out
}

impl Publish {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut body = binary(self.topic.as_bytes());
        if self.flags & 6 != 0 {
            body.extend([(self.id / 256) as u8, (self.id % 256) as u8]);
        }
        if self.five {
            let mut properties = Vec::new();
            if let Some(alias) = self.alias {
                properties.extend([35, (alias / 256) as u8, (alias % 256) as u8]);
            }
            properties.extend(pairs(&self.pairs));
            body.extend(length(properties.len()));
            body.extend(properties);
        }
        body.extend(&self.payload);
        packet(0x30 + self.flags, &body)
    }
}

impl Connect {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut flags = if self.clean { 2 } else { 0 };
        flags += if self.will.is_some() { 4 + 8 + 32 } else { 0 };
        flags += if self.password.is_some() { 64 } else { 0 };
        flags += if self.user.is_some() { 128 } else { 0 };
        let mut body = binary(b"MQTT");
        body.extend([if self.five { 5 } else { 4 }, flags]);
        body.extend([(self.keep_alive / 256) as u8, (self.keep_alive % 256) as u8]);
        if self.five {
            let properties = pairs(&self.pairs);
            body.extend(length(properties.len()));
            body.extend(properties);
        }
        body.extend(binary(self.client.as_bytes()));
        if let Some((topic, payload)) = &self.will {
            if self.five {
                body.push(0);
            }
            body.extend(binary(topic.as_bytes()));
            body.extend(binary(payload));
        }
        if let Some(user) = &self.user {
            body.extend(binary(user.as_bytes()));
        }
        if let Some(password) = &self.password {
            body.extend(binary(password));
        }
        packet(0x10, &body)
    }
}
