import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../../../../test/support/ports.ts'
import { nginxAround, startServer } from '../../../../../../test/support/proxy-process.ts'
import { sendRaw } from '../../../../../../test/support/raw-http.ts'
import { startServiceProcess, tempDir } from '../../../../../../test/support/service.ts'
import { needs } from '../../../../../../test/support/tools.ts'
import { PATIENT } from './support.ts'

const CLIENTS = 20
/** Far more than the 16 that the service leaves unanswered on one of its own connections. */
const REQUESTS = 100

/** Writes a configuration that forwards everything from one port to another. @returns the command that runs it */
const PROXIES = {
  nginx: (dir: string, from: number, to: number) => {
    const upstream = `upstream service { server 127.0.0.1:${to}; keepalive 2; }`
    const location =
      'proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";'
    const server = `server { listen 127.0.0.1:${from}; location / { ${location} } }`
    writeFileSync(join(dir, 'front.conf'), `${upstream}\n${server}\n`)
    writeFileSync(join(dir, 'nginx.conf'), nginxAround(dir, 'front.conf'))
    return ['nginx', '-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')]
  },
  caddy: (dir: string, from: number, to: number) => {
    const site = `http://127.0.0.1:${from} {\n\treverse_proxy 127.0.0.1:${to}\n}\n`
    writeFileSync(join(dir, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`)
    return ['caddy', 'run', '--config', join(dir, 'Caddyfile'), '--adapter', 'caddyfile']
  },
  haproxy: (dir: string, from: number, to: number) => {
    const times = 'timeout connect 30s\n  timeout client 60s\n  timeout server 60s'
    const front = `frontend front\n  bind 127.0.0.1:${from}\n  default_backend service`
    const back = `backend service\n  http-reuse always\n  server one 127.0.0.1:${to}`
    writeFileSync(
      join(dir, 'haproxy.cfg'),
      `defaults\n  mode http\n  ${times}\n${front}\n${back}\n`,
    )
    return ['haproxy', '-db', '-f', join(dir, 'haproxy.cfg')]
  },
} as const

for (const proxy of ['nginx', 'caddy', 'haproxy'] as const) {
  test(
    `${proxy} never has too many unanswered requests on a connection, whatever its clients pipeline`,
    needs(proxy),
    async (t) => {
      const service = await startServiceProcess(t, {
        ...PATIENT,
        MAX_CONNECTIONS_PER_ADDRESS: 'off',
      })
      const dir = tempDir(t)
      const port = await freePort('127.0.0.1')
      const command = PROXIES[proxy](dir, port, Number(new URL(service.url).port))
      const url = await startServer(t, command, dir, port)
      const request = 'GET /healthz HTTP/1.1\r\nHost: shop.example\r\n\r\n'
      const pipeline = () => sendRaw(url, request.repeat(REQUESTS), { count: REQUESTS })
      const clients = await Promise.all(Array.from({ length: CLIENTS }, pipeline))
      const statuses = clients.flatMap(({ answers }) => answers.map(({ status }) => status))
      assert.deepEqual([statuses.length, new Set(statuses)], [CLIENTS * REQUESTS, new Set([200])])
    },
  )
}
