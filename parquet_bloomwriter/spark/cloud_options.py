"""The settings of Google Cloud Storage, Azure and HDFS in Spark's configuration.

    fs.gs.storage.root.url                          the endpoint, for emulators
    fs.gs.auth.type                                 SERVICE_ACCOUNT_JSON_KEYFILE, UNAUTHENTICATED;
                                                    COMPUTE_ENGINE, APPLICATION_DEFAULT: what
                                                    obstore finds on each machine; others are
                                                    refused
    fs.gs.auth.service.account.json.keyfile         read in the driver, if it is there; what is in
                                                    it travels
    fs.gs.auth.service.account.email, .private.key, .private.key.id
    google.cloud.auth...                            older names of the same

    fs.azure.abfs.endpoint                          host:port of an emulator; the account is in the
                                                    path then. With fs.azure.always.use.https
    fs.azure.account.auth.type                      SharedKey, SAS, OAuth; Custom is refused
    fs.azure.account.key
    fs.azure.sas.fixed.token
    fs.azure.account.oauth.provider.type            ClientCredsTokenProvider; those of machines
                                                    (Msi, WorkloadIdentity): what obstore finds on
                                                    each machine; others are refused
    fs.azure.account.oauth2.client.endpoint, .id, .secret

    fs.defaultFS                                    the file system of hdfs:///path
    dfs.nameservices, dfs.ha.namenodes.*, dfs.namenode.rpc-address.*, dfs.client.failover.*
                                                    name nodes
    hadoop.security.authentication, dfs.data.transfer.protection, hadoop.security.key.provider.path
    dfs.client.use.datanode.hostname
                                                    what else hdfs-native needs; it signs in by the
                                                    ticket or the tokens of each machine

Names of Azure's may end with the host of an account (`.ACCOUNT.dfs.core.windows.net`), and count
for that account then, before those without it. A way to sign in that is not known here is refused
when a bucket is opened, not when a session has its name for other buckets.

Sources: Hadoop, "Hadoop Azure Support: ABFS", hdfs-default.xml; hadoop-connectors,
"gcs/CONFIGURATION.md"; hdfs-native, "Supported HDFS Settings".
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.settings import HdfsConnection
from parquet_bloomwriter.stores.gcs_azure_settings import (
    AzureConnection,
    ClientCredentials,
    GoogleConnection,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

JAVA_PATTERN = (
    r"^(fs\.gs\.(storage\.root\.url|auth\..*)|google\.cloud\.auth\..*"
    r"|fs\.azure\.(abfs\.endpoint|always\.use\.https|account\..*|sas\..*)"
    r"|fs\.defaultFS|dfs\.nameservices|dfs\.ha\.namenodes\..*|dfs\.namenode\.rpc-address.*"
    r"|dfs\.client\.failover\..*|dfs\.client\.use\.datanode\.hostname"
    r"|dfs\.data\.transfer\.protection"
    r"|hadoop\.security\.(authentication|key\.provider\.path))$"
)
"""Pattern, for Java, of the names of options that are read."""

_OF_HDFS = re.compile(r"fs\.defaultFS|dfs\.|hadoop\.")
_KEY_TEXT = "the key of a service account"
"""Name of the option under which the contents of a key file travel to executors."""

_GOOGLE_URL = "https://storage.googleapis.com"
_GOOGLE_DEFAULT = "COMPUTE_ENGINE"
"""Value of `fs.gs.auth.type` that Hadoop from 3.5 on sets by default; older names may override
it."""

_GOOGLE_FOUND = (_GOOGLE_DEFAULT, "APPLICATION_DEFAULT")
_GOOGLE_PREFIXES = ("fs.gs.auth.", "google.cloud.auth.")
_AZURE_FOUND = ("MsiTokenProvider", "WorkloadIdentityTokenProvider")
_ADDRESS = re.compile(r"[^:/@]+:\d+")


def connection(options: Mapping[str, str], base: str) -> GoogleConnection | AzureConnection | None:
    """Return the connection for a bucket; None: obstore finds its settings.

    Args:
        options: Options of Hadoop's configuration.
        base: URL of the bucket.

    Raises:
        InvalidArgument: If the configuration signs in by a way that is not known here.
    """
    scheme, _, rest = base.partition("://")
    if scheme == "gs":
        return _google(options, base)
    container, _, host = rest.partition("@")
    return _azure(options, host, base) if container and host else None


def with_key_file(options: dict[str, str]) -> dict[str, str]:
    """Return options with the contents of the key file that they name, if it is on this machine."""
    path = _of_google(options, "service.account.json.keyfile")
    if path is None:
        return options
    try:
        return {**options, _KEY_TEXT: Path(path.removeprefix("file://")).read_text("utf-8")}
    except (OSError, ValueError):
        return options


def hdfs_connection(options: Mapping[str, str]) -> HdfsConnection:
    """Return the connection for HDFS's name nodes; without settings, each machine has its own."""
    settings = {name: text.strip() for name, text in options.items() if _OF_HDFS.match(name)}
    given = tuple(sorted((name, text) for name, text in settings.items() if text))
    return HdfsConnection(default=settings.get("fs.defaultFS"), settings=given)


# Google Cloud Storage.


def _google(options: Mapping[str, str], base: str) -> GoogleConnection | None:
    given = _text(options, "fs.gs.storage.root.url")
    kind = (_of_google(options, "type") or "").upper()
    if kind in ("", _GOOGLE_DEFAULT):
        kind = _older_kind(options) or kind
    if not given and kind in ("", *_GOOGLE_FOUND):
        return None
    endpoint = (given or _GOOGLE_URL).rstrip("/")
    if kind == "UNAUTHENTICATED":
        return GoogleConnection(endpoint=endpoint, is_anonymous=True)
    if kind == "SERVICE_ACCOUNT_JSON_KEYFILE":
        return GoogleConnection(endpoint=endpoint, service_account=_account(options, base))
    if kind and kind not in _GOOGLE_FOUND:
        raise _refused(
            base,
            f"fs.gs.auth.{kind}" if "." in kind else f"fs.gs.auth.type={kind}",
            "Use SERVICE_ACCOUNT_JSON_KEYFILE with fs.gs.auth.service.account.json.keyfile, or "
            "APPLICATION_DEFAULT, by which each machine finds its own.",
        )
    return GoogleConnection(endpoint=endpoint)


def _older_kind(options: Mapping[str, str]) -> str:
    """Return the way to sign in that older options than `fs.gs.auth.type` imply, or ""."""
    for name in ("service.account.keyfile", "access.token.provider.impl", "access.token.provider"):
        if _of_google(options, name):
            return name
    if _of_google(options, "service.account.json.keyfile") or _of_google(
        options, "service.account.private.key"
    ):
        return "SERVICE_ACCOUNT_JSON_KEYFILE"
    is_anonymous = (_of_google(options, "null.enable") or "").lower() == "true"
    return "UNAUTHENTICATED" if is_anonymous else ""


def _account(options: Mapping[str, str], base: str) -> str:
    """Return the key of a service account as JSON."""
    key = _of_google(options, "service.account.private.key")
    if key is not None:
        return json.dumps(
            {
                "type": "service_account",
                "client_email": _of_google(options, "service.account.email") or "",
                "private_key": key.replace("\\n", "\n"),
                "private_key_id": _of_google(options, "service.account.private.key.id") or "",
            }
        )
    if _KEY_TEXT in options:
        return options[_KEY_TEXT]
    path = _of_google(options, "service.account.json.keyfile")
    here = with_key_file(dict(options)).get(_KEY_TEXT)
    if here is not None:
        return here
    raise InvalidArgument(
        f'the key file of "{base}" cannot be read: {path}',
        remedy="Set fs.gs.auth.service.account.json.keyfile to a file that the driver can read.",
    )


def _of_google(options: Mapping[str, str], name: str) -> str | None:
    found = (_text(options, prefix + name) for prefix in _GOOGLE_PREFIXES)
    return next((one for one in found if one), None)


# Azure.


def _azure(options: Mapping[str, str], host: str, base: str) -> AzureConnection | None:
    def text(name: str) -> str | None:
        return _text(options, f"fs.azure.{name}.{host}") or _text(options, f"fs.azure.{name}")

    endpoint = _azure_endpoint(options, host)
    kind, key = text("account.auth.type"), text("account.key")
    if not (kind or key or _text(options, "fs.azure.abfs.endpoint")):
        return None
    kind = (kind or "SharedKey").lower()
    if kind == "sharedkey":
        if text("account.keyprovider") not in (None, _SIMPLE):
            raise _refused(base, f"{text('account.keyprovider')}", _AZURE_REMEDY)
        return AzureConnection(endpoint=endpoint, access_key=key)
    if kind == "sas":
        token = text("sas.fixed.token")
        if token is None:
            provider = text("sas.token.provider.type") or "no fs.azure.sas.fixed.token"
            raise _refused(base, f"SAS by {provider}", "Set fs.azure.sas.fixed.token.")
        return AzureConnection(endpoint=endpoint, sas_token=token)
    provider = text("account.oauth.provider.type") or ""
    name = provider.rpartition(".")[2]
    if kind != "oauth" or name not in (_CLIENT, *_AZURE_FOUND):
        raise _refused(base, provider or f"fs.azure.account.auth.type={kind}", _AZURE_REMEDY)
    if name != _CLIENT:
        return AzureConnection(endpoint=endpoint)
    found = {one: text(f"account.oauth2.client.{one}") for one in ("endpoint", "id", "secret")}
    return AzureConnection(endpoint=endpoint, client=_client(found, base))


def _azure_endpoint(options: Mapping[str, str], host: str) -> str:
    address = _text(options, "fs.azure.abfs.endpoint")
    if address is None or not _ADDRESS.fullmatch(address):
        return f"https://{host.replace('.dfs.', '.blob.', 1)}"
    is_plain = (_text(options, "fs.azure.always.use.https") or "").lower() == "false"
    return f"{'http' if is_plain else 'https'}://{address}/{host.partition('.')[0]}"


def _client(found: Mapping[str, str | None], base: str) -> ClientCredentials:
    url, client_id, secret = found["endpoint"] or "", found["id"], found["secret"]
    if not (client_id and secret and url.lower().startswith(("https://", "http://"))):
        raise _refused(
            base,
            f"{_CLIENT} without its endpoint, id or secret",
            "Set fs.azure.account.oauth2.client.endpoint (a URL), .id and .secret.",
        )
    return ClientCredentials(token_url=url, client_id=client_id, secret=secret)


_SIMPLE = "org.apache.hadoop.fs.azurebfs.services.SimpleKeyProvider"
_CLIENT = "ClientCredsTokenProvider"
_AZURE_REMEDY = (
    "Use SharedKey with fs.azure.account.key, SAS with fs.azure.sas.fixed.token, or OAuth with "
    "ClientCredsTokenProvider, MsiTokenProvider or WorkloadIdentityTokenProvider."
)


def _refused(base: str, way: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(
        f'the credentials of "{base}" come by {way}, which is not known here', remedy=remedy
    )


def _text(options: Mapping[str, str], name: str) -> str | None:
    return options.get(name, "").strip() or None
