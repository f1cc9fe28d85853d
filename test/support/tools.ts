import { execFileSync, spawnSync } from 'node:child_process'

/** Debian's packages for the programs that tests run. */
const PACKAGES = {
  chromium: 'chromium',
  curl: 'curl',
  openssl: 'openssl',
  strace: 'strace',
} as const

/**
 * Makes sure that a program is there: the one on the machine, else Debian's, where this is root on Debian.
 * @throws Error that says what to install
 */
export function needTool(name: keyof typeof PACKAGES): void {
  if (isThere(name)) return
  const canInstall = process.getuid?.() === 0 && isThere('apt-get')
  if (canInstall) {
    const options = {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    } as const
    execFileSync('apt-get', ['update'], options)
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', PACKAGES[name]], options)
  }
  if (!isThere(name))
    throw new Error(`This test runs ${name}. Install it: apt-get install ${PACKAGES[name]}`)
}

function isThere(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0
}
