"""Settings of GCS and Azure that a program gives, in place of those that obstore finds.

obstore reads the environment first, whatever it is given, so what the environment could say is
said here, too:

    endpoint      always
    Azure         a function that returns the credentials takes the place of all others
    GCS           a service account, given in that one of the two ways that the environment names,
                  for obstore refuses to take both

Secrets are left out of every text.

Sources: obstore, `AzureConfig`, `GCSConfig`; Microsoft identity platform, "OAuth 2.0 client
credentials flow".
"""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import json
import os
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any

from parquet_bloomwriter.errors import InvalidArgument, StoreProblem

_TIMEOUT_S = 60
_DEFAULT_LIFE_S = 3600
_STORAGE = "https://storage.azure.com/"
_PATH_NAMES = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH")
_TOKEN = "GOOGLE_BEARER_TOKEN"  # noqa: S105  the name of a variable
_NO_ACCOUNT = json.dumps(
    {"private_key": "", "private_key_id": "", "client_email": "", "disable_oauth": True}
)
"""Key of a service account that signs nothing, JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """A program that is registered with Microsoft Entra."""

    token_url: str = field(repr=False)
    """URL that gives out tokens, with the tenant in it."""

    client_id: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureConnection:
    """Endpoint and credentials of a container; obstore finds credentials if none are given here."""

    endpoint: str = field(repr=False)
    """URL that the container's name follows."""

    access_key: str | None = field(default=None, repr=False)
    sas_token: str | None = field(default=None, repr=False)
    client: ClientCredentials | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the options for obstore."""
        config = {"endpoint": self.endpoint}
        found: dict[str, Any]
        if self.access_key is not None:
            found = {"access_key": self.access_key, "expires_at": None}
        elif self.sas_token is not None:
            found = {"sas_token": self.sas_token.removeprefix("?"), "expires_at": None}
        elif self.client is not None:
            client = self.client
            config["skip_signature"] = "false"
            return {"config": config, "credential_provider": lambda: _token_of(client)}
        else:
            return {"config": config}
        config["skip_signature"] = "false"
        return {"config": config, "credential_provider": lambda: found}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleConnection:
    """Endpoint and credentials of a bucket; obstore finds an account if none is given here."""

    endpoint: str = field(repr=False)
    service_account: str | None = field(default=None, repr=False)
    """Key of a service account, JSON."""

    is_anonymous: bool = False
    """Whether requests are not signed."""

    def arguments(self) -> dict[str, Any]:
        """Return the options for obstore.

        Raises:
            InvalidArgument: If the environment has a token, which obstore would use instead.
        """
        config = {"base_url": self.endpoint}
        account = _NO_ACCOUNT if self.is_anonymous else self.service_account
        if account is None:
            return {"config": config}
        if not self.is_anonymous and os.environ.get(_TOKEN):
            raise InvalidArgument(
                f"{_TOKEN} is set, and obstore would use it instead of the service account",
                remedy=f"Unset {_TOKEN}.",
            )
        config["skip_signature"] = "true" if self.is_anonymous else "false"
        if any(os.environ.get(name) for name in _PATH_NAMES):
            config["service_account"] = _as_file(account).name
        else:
            config["service_account_key"] = account
        return {"config": config}


_making = Lock()


def _as_file(text: str) -> Any:  # noqa: ANN401  a file object of `tempfile`
    """Return a file of this text for this user only, which is removed when the process ends."""
    with _making:  # Of two threads that make it, the cache keeps one file; the other is removed.
        return _file(text)


@cache
def _file(text: str) -> Any:  # noqa: ANN401  as above
    file = tempfile.NamedTemporaryFile(  # noqa: SIM115  kept, and closed at the end
        "w", prefix="bloomify-", suffix=".json", delete=False
    )
    file.write(text)
    file.flush()
    atexit.register(_remove, file, os.getpid())
    return file


def _remove(file: Any, process: int) -> None:  # noqa: ANN401  as above
    """Remove a file, unless a child of the process that made it ends: the parent needs it."""
    if os.getpid() == process:
        file.close()
        with contextlib.suppress(OSError):
            os.unlink(file.name)  # noqa: PTH108  while Python ends


def _token_of(client: ClientCredentials) -> dict[str, Any]:
    """Return a new token for a registered program, from its token URL.

    Raises:
        StoreProblem: If there is none.
    """
    form = {
        "grant_type": "client_credentials",
        "client_id": client.client_id,
        "client_secret": client.secret,
    }
    if "/v2.0/" in client.token_url:
        form["scope"] = f"{_STORAGE}.default"
    else:
        form["resource"] = _STORAGE
    request = urllib.request.Request(  # noqa: S310  the caller checks the scheme
        client.token_url, data=urllib.parse.urlencode(form).encode()
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  as above
            said = json.load(answer)
        life_s = int(said.get("expires_in", _DEFAULT_LIFE_S))
        expires_at = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=life_s)
        return {"token": said["access_token"], "expires_at": expires_at}
    except (OSError, ValueError, KeyError, TypeError) as error:
        status = error.code if isinstance(error, urllib.error.HTTPError) else type(error).__name__
        raise StoreProblem(
            f"there is no token for Azure: {status}",
            remedy="Check the client, its secret and the endpoint of OAuth.",
        ) from None
