"""Files that look like secrets: tools do not read them without approval."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

#: Patterns of file names, in lower case.
SECRET_FILES = (
    ".env",
    ".env.*",
    ".env-*",
    ".env_*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    "pip.conf",
    ".authinfo*",
    ".wgetrc",
    ".curlrc",
    ".databrickscfg",
    ".sentryclirc",
    ".terraformrc",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".vault-token",
    ".boto",
    ".s3cfg",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.asc",
    "*.gpg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_*_sk",
    "credentials",
    "credentials.*",
    "*credentials.json",
    "*credentials.y*ml",
    "secret",
    "secrets",
    "secrets.*",
    "*.secret",
    "*.secrets",
    "*.token",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "kubeconfig",
    "keys.json",
    "auth.json",
    "firebase-adminsdk*.json",
    "gha-creds-*.json",
    "local.settings.json",
    "wp-config.php",
    ".dev.vars",
    "logins.json",
    "key[34].db",
    "login data",
    "cookies",
    "cookies.sqlite",
    "cookies.txt",
    "*.tfvars",
    "*.tfstate",
    "*_history",
    *(
        f"{name}{suffix}"
        for name in ("token", "tokens", "password", "passwords", "passwd", "passphrase")
        # Without `.py` and the like: that is code about them.
        for suffix in ("", ".txt", ".json", ".y*ml", ".csv", ".toml", ".ini", ".xml", ".kdb*")
    ),
)
#: Suffixes that editors and people add to the name of a copy.
_COPY_SUFFIX = re.compile(r"(?:~|\.(?:bak|backup|old|orig|saved?|copy|tmp|sw[op]|\d{1,4})|[ _-]copy| ?\(\d+\))\Z")
#: Directories whose files are all secret.
SECRET_DIRECTORIES = frozenset(
    (
        *(".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker", ".password-store", ".oci"),
        *(".terraform.d", ".mozilla", ".pki"),
    )
)
#: Directories of `.config` and the like whose files are all secret.
_SECRET_CONFIG_DIRECTORIES = frozenset(
    (
        *("gh", "hub", "glab-cli", "gcloud", "doctl", "op", "rclone", "containers", "sops", "heroku", "netlify"),
        *("vercel", "fly", "keyrings", "kwalletd", "antiphon"),
        *("google-chrome", "chromium", "bravesoftware", "microsoft-edge"),
    )
)
_CONFIG_PARENTS = (".config", ".local/share", "application support", "appdata/roaming", "appdata/local")
#: Files with passwords in directories that also have others.
_SECRET_PATHS = (".m2/settings*.xml", ".gradle/gradle.properties", ".nuget/nuget.config", ".subversion/auth/*")


def looks_like_secret(parts: Sequence[str]) -> bool:
    """Return whether a file with this path looks like it holds secrets: keys, passwords, tokens."""
    names = [part.casefold() for part in parts]
    if not names:
        return False
    # The URLs of remotes may contain passwords.
    is_git_config = ".git" in names[:-1] and names[-1].startswith("config")
    if is_git_config or any(name in SECRET_DIRECTORIES for name in names):
        return True
    path = "/".join(names)
    if any(
        name in _SECRET_CONFIG_DIRECTORIES and "/".join(names[:at]).endswith(_CONFIG_PARENTS)
        for at, name in enumerate(names)
    ):
        return True
    if any(fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}") for pattern in _SECRET_PATHS):
        return True
    last = names[-1]
    spellings = [last]
    # A copy of a copy is secret too.
    while (plain := _COPY_SUFFIX.sub("", spellings[-1]).strip("#")) not in ("", spellings[-1]):
        spellings += [plain.removeprefix("."), plain]
    return any(fnmatchcase(name, pattern) for name in spellings for pattern in SECRET_FILES)
