import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../../test/support/ports.ts'
import { nginxAround, startServer } from '../../../../test/support/proxy-process.ts'
import { type Cleanup, ROOT, tempDir } from '../../../../test/support/service.ts'

export type ProxyName = 'nginx' | 'caddy' | 'haproxy'

interface Setting {
  /** Where it listens. Default: a free port. */
  readonly port?: number
  readonly gatewayPort: number
  readonly sitePort: number
  readonly idHeader: string
}

/** What starts a proxy in a directory that holds its example, with nothing but addresses and names changed. */
const PROXIES: Readonly<
  Record<ProxyName, { files: readonly string[]; command: (dir: string) => readonly string[] }>
> = {
  nginx: {
    files: ['nginx/countersign.conf'],
    command: (dir) => {
      writeFileSync(join(dir, 'nginx.conf'), nginxAround(dir))
      return ['nginx', '-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')]
    },
  },
  caddy: {
    files: ['caddy/Caddyfile'],
    command: (dir) => [
      'caddy',
      'run',
      '--config',
      join(dir, 'Caddyfile'),
      '--adapter',
      'caddyfile',
    ],
  },
  haproxy: {
    files: ['haproxy/haproxy.cfg', 'haproxy/countersign.lua'],
    command: (dir) => ['haproxy', '-db', '-f', join(dir, 'haproxy.cfg')],
  },
}

/**
 * Starts a proxy of Debian's with its example of deploy/.
 * @returns where it answers
 */
export async function startProxy(t: Cleanup, name: ProxyName, setting: Setting): Promise<string> {
  const dir = tempDir(t)
  const port = setting.port ?? (await freePort('127.0.0.1'))
  const { files, command } = PROXIES[name]
  for (const file of files) {
    const text = readFileSync(join(ROOT, 'deploy', file), 'utf8')
    const base = file.split('/').at(-1) as string
    writeFileSync(join(dir, base), substituted(text, setting, port, dir))
  }
  return startServer(t, command(dir), dir, port)
}

function substituted(
  text: string,
  { gatewayPort, sitePort, idHeader }: Setting,
  port: number,
  dir: string,
) {
  return text
    .replaceAll(':8088', `:${port}`)
    .replaceAll('127.0.0.1:8181', `127.0.0.1:${gatewayPort}`)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${sitePort}`)
    .replaceAll('/etc/haproxy/', `${dir}/`)
    .replaceAll('ServiceID', idHeader)
    .replaceAll('serviceid', idHeader.toLowerCase())
    .replace(/^\{$/m, '{\n\tadmin off\n')
}
