#!/bin/sh
# Makes the secrets of the compose files, once. The folder is private; its files are not, because the users inside the
# containers read them.
set -eu
cd "$(dirname "$0")"
mkdir -p secrets
chmod 0700 secrets
make_secret() {
  [ -s "secrets/$1" ] && return
  eval "$2" > "secrets/$1.new"
  chmod 0644 "secrets/$1.new"
  mv "secrets/$1.new" "secrets/$1"
}
random_hex="od -An -N32 -tx1 /dev/urandom | tr -d ' \n'"
make_secret database_password "$random_hex"
make_secret admin_token "$random_hex"
make_secret grafana_password "$random_hex"
make_secret first_key "$random_hex"
make_secret encryption_key "head -c 32 /dev/urandom | base64 | tr -d '\n'"
echo "The secrets are in $(pwd)/secrets; the key for requests is in secrets/first_key."
