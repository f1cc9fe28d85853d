import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../../../test/support/ports.ts'
import { nginxAround, startServer } from '../../../../test/support/proxy-process.ts'
import { tempDir } from '../../../../test/support/service.ts'
import { needs } from '../../../../test/support/tools.ts'
import { startGateway } from '../support/gateway-process.ts'
import { fuzzOptions, fuzzPaths, HANDLERS, idOf, POLICIES } from '../support/path-fuzz.ts'
import { type ProxyName, startProxy } from '../support/proxies.ts'
import { startWsgiSite } from '../support/wsgi-site.ts'

// No request reaches a handler that the policy denies for the handler's path, however the request writes that path. The
// proxies run their examples of deploy/ in front of sites that find their handlers in ways of their own.

/** A site that looks for its handlers as a proxy does. @returns the configuration */
const SITES: Readonly<Record<ProxyName, (port: number) => string>> = {
  // nginx decodes, merges slashes and resolves dot segments.
  nginx: (port) => `server {
    listen 127.0.0.1:${port};
    location / { return 200; }
    ${HANDLERS.map(
      (each) => `location = "${each.path}" { add_header X-Handler ${idOf(each)}; return 200; }`,
    ).join('\n    ')}
  }`,
  // Caddy ignores letter case besides.
  caddy: (port) => `{
    admin off
  }
  http://:${port} {
    bind 127.0.0.1
    ${HANDLERS.map(
      (each) => `@handler${idOf(each)} path "${each.path}"
    handle @handler${idOf(each)} {
      header X-Handler ${idOf(each)}
      respond 200
    }`,
    ).join('\n    ')}
    respond 200
  }`,
  haproxy: (port) => `defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 30s
frontend site
    bind 127.0.0.1:${port}
    ${HANDLERS.map((each) => {
      const path = each.path.replaceAll('$', '\\$')
      return `http-request return status 200 hdr X-Handler ${idOf(each)} if { path,url_dec -m str -i "${path}" }`
    }).join('\n    ')}
    http-request return status 200
`,
}

/** Starts a site. @returns its port */
async function startSite(t: TestContext, kind: ProxyName): Promise<number> {
  const dir = tempDir(t)
  const port = await freePort('127.0.0.1')
  const file = join(dir, 'site.conf')
  writeFileSync(file, SITES[kind](port))
  const main = join(dir, 'nginx.conf')
  writeFileSync(main, nginxAround(dir, 'site.conf'))
  const commands: Readonly<Record<ProxyName, readonly string[]>> = {
    nginx: ['nginx', '-p', dir, '-e', 'stderr', '-c', main],
    caddy: ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
    haproxy: ['haproxy', '-db', '-f', file],
  }
  await startServer(t, commands[kind], dir, port)
  return port
}

for (const proxy of ['nginx', 'caddy', 'haproxy'] as const) {
  for (const [which, policy] of Object.entries(POLICIES)) {
    test(
      `${proxy}: no way of writing a path reaches a closed handler (${which})`,
      needs(proxy, 'python3'),
      async (t) => {
        const gateway = await startGateway(t, {
          service: 'http://127.0.0.1:1',
          policy,
        })
        const sitePorts = [await startWsgiSite(t), await startSite(t, proxy)]
        for (const sitePort of sitePorts) {
          const ports = { gatewayPort: gateway.port, sitePort, idHeader: 'ServiceID' }
          await fuzzPaths(await startProxy(t, proxy, ports), fuzzOptions(1000))
        }
      },
    )
  }
}
