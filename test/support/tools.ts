import { execFileSync, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Debian's packages for the programs that tests run. */
const PACKAGES = {
  caddy: 'caddy',
  chromium: 'chromium',
  curl: 'curl',
  faketime: 'faketime',
  git: 'git',
  haproxy: 'haproxy',
  initdb: 'postgresql',
  nginx: 'nginx',
  openssl: 'openssl',
  prometheus: 'prometheus',
  promtool: 'prometheus',
  'redis-server': 'redis-server',
  strace: 'strace',
  'systemd-analyze': 'systemd',
} as const

/**
 * Makes sure that a program is there: the one on the machine, else Debian's, where this is root on Debian.
 * @throws Error that says what to install
 */
export function needTool(name: keyof typeof PACKAGES): void {
  if (isThere(name)) return
  const canInstall = process.getuid?.() === 0 && isThere('apt-get')
  if (canInstall) install(name)
  if (!isThere(name))
    throw new Error(`This test runs ${name}. Install it: apt-get install ${PACKAGES[name]}`)
}

/** Test files run side by side, and apt-get does not: the second to come waits, and finds it there. */
function install(name: keyof typeof PACKAGES): void {
  const apt = `apt-get update && apt-get install -y --no-install-recommends ${PACKAGES[name]}`
  execFileSync(
    'flock',
    [join(tmpdir(), 'countersign-apt.lock'), 'sh', '-c', `${there(name)} || { ${apt}; }`],
    // Some packages start what they bring: not in runlevel 1.
    {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    },
  )
}

function isThere(name: string): boolean {
  return spawnSync('sh', ['-c', there(name)]).status === 0
}

/** Debian keeps the programs of PostgreSQL out of the PATH. */
function there(name: string): string {
  return `command -v ${name} || ls /usr/lib/postgresql/*/bin/${name}`
}
