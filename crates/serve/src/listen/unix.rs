//! Unix sockets: stale files of a crash are removed, those in use are not.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use socket2::{Domain, SockAddr, Socket, Type};

/// Listens at a path. No client can connect before the file has its mode.
pub(crate) fn listen(path: &Path, mode: u32, backlog: i32) -> io::Result<UnixListener> {
    clear_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    socket.listen(backlog)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Removes the socket of a process that has ended.
fn clear_stale(path: &Path) -> io::Result<()> {
    let kind = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !kind.is_socket() {
        let what = "there is a file of another kind; remove it or choose another path";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(_) | Err(_) => Err(io::ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_over_what_a_crash_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(listen(&path, 0o600, 8).unwrap());
        assert!(path.exists(), "the file outlives its listener");
        let second = listen(&path, 0o620, 8).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o620
        );
        UnixStream::connect(&path).unwrap();
        drop(second);
    }

    #[test]
    fn leaves_alone_what_is_in_use_or_no_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let _first = listen(&path, 0o600, 8).unwrap();
        let error = listen(&path, 0o600, 8).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let file = folder.path().join("f");
        fs::write(&file, "precious").unwrap();
        assert!(listen(&file, 0o600, 8).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }
}
