import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { HOST } from './http-exchange.ts'
import { postClaims, seedClaims } from './log-claims.ts'
import { freePort, startServer } from './process.ts'
import { Scope } from './scope.ts'
import { untilLogged } from './until-logged.ts'

/*
 * Go's golang.org/x/mod/sumdb verifies a log that claims over HTTP have made: the checkpoint, every tile and entry, inclusion, and
 * consistency with a checkpoint from the first half of the load. Needs Debian's golang-go and golang-golang-x-mod-dev.
 * node bench/verify-log.ts [claims]
 */

const count = Number(process.argv[2] ?? 100_000)
const CONNECTIONS = 64
const root = resolve(import.meta.dirname, '..')
const dir = mkdtempSync(join(tmpdir(), 'countersign-verify-log-'))
const scope = new Scope()
try {
  const verifier = join(dir, 'log-verify')
  const go = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: dir, HOME: dir }
  execFileSync('go', ['build', '-o', verifier, join(root, 'tools/log-verify/main.go')], {
    env: { PATH: process.env.PATH, ...go },
  })
  const bodies = await seedClaims(join(dir, 'countersign.db'), count)
  const port = await freePort()
  const url = `http://${HOST}:${port}`
  await startServer(scope, {
    args: [join(root, 'packages/server/bin/countersignd.mjs'), 'serve'],
    env: {
      ...{ HOST, PORT: String(port), DATA_DIR: dir, BASE_URL: url, METRICS_PORT: 'off' },
      ...{ DRAIN_SECONDS: '0', LOG_LEVEL: 'silent', RATE_LIMITS: 'off' },
      MAX_CONNECTIONS_PER_ADDRESS: '1000',
    },
    ...{ port, core: null, until: [{ method: 'GET', path: '/readyz' }] },
  })
  const began = performance.now()
  const load = postClaims(port, bodies, CONNECTIONS)
  const early = await checkpointDuringLoad(url, port)
  await load
  const claimSeconds = (performance.now() - began) / 1000
  await untilLogged(port, count)
  const lagSeconds = (performance.now() - began) / 1000 - claimSeconds
  const { verifierKey } = (await (await fetch(`${url}/log`)).json()) as { verifierKey: string }
  const verifying = performance.now()
  const printed = execFileSync(verifier, [`${url}/log`, verifierKey, early], { encoding: 'utf8' })
  const verifySeconds = (performance.now() - verifying) / 1000
  console.log(printed.trim())
  console.log(JSON.stringify({ claims: count, claimSeconds, lagSeconds, verifySeconds }))
} finally {
  await scope.end()
  rmSync(dir, { recursive: true, force: true })
}

/** @returns a file with a checkpoint of a third of the entries at least, signed while claims arrive */
async function checkpointDuringLoad(url: string, port: number): Promise<string> {
  await untilLogged(port, count / 3)
  const file = join(dir, 'early')
  writeFileSync(file, await (await fetch(`${url}/log/checkpoint`)).text())
  return file
}
