"""Give a new file the owner, mode and extended attributes of the one it replaces.

Never, not even for an instant, may anyone read the new file who could not read the old
one. So the owner comes first, while the mode is 0600, then the access control list, then
the mode. What cannot be kept gives way to less, never to more:

    owner lost    no setuid and setgid bits, no capabilities
    group lost    others and group get only what both had (g & o); with an access control
                  list, nothing: its mask hides what the group really had

A folder's default access control list, which the system puts on new files, is taken off
if the old file had none. Access control lists are the attribute `system.posix_acl_access`
on Linux; other platforms offer no extended attributes here, and lose them.

Capabilities of a program (`security.capability`) are taken off by the kernel when a file is written
or given away, so they are set after the owner. Setting them takes the right CAP_SETFCAP, which root
has; without that right they are lost, and a warning says so.

Attributes that sign the content (`security.ima`, `security.evm`) are not carried over, as the
content is new. Labels that we have no right to set are left to the system. The modification time is
new, unless `new_version` is asked to keep it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import warnings

from parquet_bloomwriter.text import safe

ACL = "system.posix_acl_access"

_CAPABILITY = "security.capability"
_ABOUT_CONTENT = frozenset({"security.ima", "security.evm"})
_MUST_BE_KEPT = ("user.", "system.")
_REFUSED = frozenset({errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.EINVAL})


class RightsLost(RuntimeWarning):
    """A file was replaced, and the new one lacks a right that the old one gave."""


def carry_over(old_fd: int, new_fd: int, *, name: str) -> None:
    """Give the new file the owner, mode and extended attributes of the old.

    Warns of capabilities that are lost (`RightsLost`).

    Args:
        old_fd: The file that will be replaced.
        new_fd: The complete new file, with mode 0600 or less: writing to it later would
            clear bits again.
        name: Of the old file, for the warning.

    Raises:
        OSError: An attribute that belongs to the user, or an access right, cannot be kept.
    """
    old = os.fstat(old_fd)
    mode = stat.S_IMODE(old.st_mode)
    attributes = _read_attributes(old_fd)
    acl, capability = attributes.pop(ACL, None), attributes.pop(_CAPABILITY, None)
    owner_kept, group_kept = _give_owner(new_fd, uid=old.st_uid, gid=old.st_gid)
    if not (owner_kept and group_kept):
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    if not group_kept:
        mode, acl = _narrowed(mode, has_acl=acl is not None), None
    for attribute, value in attributes.items():
        _set_attribute(new_fd, attribute, value)
    if capability is not None:
        _give_capability(new_fd, capability if owner_kept and group_kept else None, name=name)
    _give_access(new_fd, mode=mode, acl=acl)


def _give_owner(fd: int, *, uid: int, gid: int) -> tuple[bool, bool]:
    """Change owner and group as far as allowed; return whether each was changed."""
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (uid, gid):
        for owner_and_group in ((uid, gid), (-1, gid)):
            try:
                os.fchown(fd, *owner_and_group)
            except OSError as error:
                if error.errno not in _REFUSED:
                    raise
            else:
                break
        new = os.fstat(fd)
    return new.st_uid == uid, new.st_gid == gid


def _narrowed(mode: int, *, has_acl: bool) -> int:
    """Return the mode without rights that a changed group would give to anybody."""
    shared = 0 if has_acl else (mode >> 3) & mode & 0o007
    return mode & ~0o077 | shared << 3 | shared


def _give_access(fd: int, *, mode: int, acl: bytes | None) -> None:
    if hasattr(os, "setxattr"):
        if acl is not None:
            os.setxattr(fd, ACL, acl)
        elif ACL in _list_attributes(fd):
            os.removexattr(fd, ACL)
    if hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(fd).st_mode) != mode:
        os.fchmod(fd, mode)


def _read_attributes(fd: int) -> dict[str, bytes]:
    found = {}
    for name in _list_attributes(fd):
        if name not in _ABOUT_CONTENT:
            with contextlib.suppress(*_optional(name)):
                found[name] = os.getxattr(fd, name)
    return found


def _list_attributes(fd: int) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(fd)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return []
        raise


def _give_capability(fd: int, value: bytes | None, *, name: str) -> None:
    """Set the capabilities of the old file; warn if they must not or cannot be set."""
    if value is not None:
        try:
            os.setxattr(fd, _CAPABILITY, value)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
        else:
            return
    warnings.warn(
        f"{safe(name)}: its capabilities ({_CAPABILITY}) are lost; setcap sets them again",
        RightsLost,
        stacklevel=2,
    )


def _set_attribute(fd: int, name: str, value: bytes) -> None:
    with contextlib.suppress(*_optional(name)):
        os.setxattr(fd, name, value)


def _optional(name: str) -> tuple[type[OSError], ...]:
    """Return the errors that are ignored for an extended attribute."""
    return () if name.startswith(_MUST_BE_KEPT) else (OSError,)
