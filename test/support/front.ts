import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import { createAuthority } from './certificates.ts'
import { freePort } from './ports.ts'
import { nginxAround, startServer } from './proxy-process.ts'
import { type Cleanup, ROOT, tempDir } from './service.ts'
import { until } from './until.ts'

export type FrontName = 'caddy' | 'nginx'

const FILES = { caddy: 'caddy/service.Caddyfile', nginx: 'nginx/service.conf' } as const

/** A TLS-terminating proxy before a service, with its configuration from deploy/. */
export interface Front {
  /** For BASE_URL. */
  readonly origin: string
  /** The certificate of the authority that certifies it, in PEM. */
  readonly ca: string
  /** Starts it. @param servicePorts the upstream ports, one for each node */
  start(...servicePorts: string[]): Promise<void>
  /**
   * Sends a request to it.
   * @param options `localAddress` is the client's loopback address
   * @param body bytes are sent unchanged, anything else as JSON
   */
  ask(path: string, options?: RequestOptions, body?: unknown): Promise<FrontAnswer>
}

interface FrontAnswer {
  readonly status: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

/** Prepares a proxy without starting it. @param text its configuration, by default the file in deploy/ */
export async function prepareFront(
  t: Cleanup,
  name: FrontName,
  text = readFileSync(join(ROOT, 'deploy', FILES[name]), 'utf8'),
): Promise<Front> {
  const dir = tempDir(t)
  const port = String(await freePort('127.0.0.1'))
  const [key, certificate] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const authority = await createAuthority('test authority')
  const certified = await authority.certify(['localhost'])
  writeFileSync(key, certified.key)
  writeFileSync(certificate, certified.cert)
  const ca = authority.certificate
  const ask: Front['ask'] = (path, options = {}, body) =>
    new Promise((resolve, reject) => {
      const isBytes = body instanceof Uint8Array
      const json = body === undefined || isBytes ? {} : { 'content-type': 'application/json' }
      const headers = { host: `localhost:${port}`, ...json, ...options.headers }
      const given = {
        ...options,
        headers,
        host: '127.0.0.1',
        servername: 'localhost',
        port,
        path,
        ca,
      }
      const outgoing = request({ ...given, agent: false }, (incoming) => {
        let text = ''
        incoming.on('data', (chunk) => (text += chunk))
        incoming.on('end', () => {
          const { statusCode: status = 0, headers } = incoming
          resolve({ status, text, headers })
        })
        incoming.on('error', reject)
      })
      outgoing.on('error', reject)
      outgoing.end(body === undefined || isBytes ? body : JSON.stringify(body))
    })
  return {
    origin: `https://localhost:${port}`,
    ca,
    ask,
    async start(...servicePorts) {
      const setting = { dir, port, text, servicePorts, key, certificate }
      const [program, ...args] = name === 'caddy' ? caddy(setting) : nginx(setting)
      const child = spawn(program as string, args, {
        env: { PATH: `${process.env.PATH}:/usr/sbin`, HOME: dir, XDG_DATA_HOME: dir },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => (output += chunk))
      const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      t.after(() => {
        child.kill('SIGTERM')
        return exited
      })
      await until(async () => {
        if (child.exitCode !== null) throw new Error(`${name} ended:\n${output}`)
        return ask('/readyz').then(
          ({ status }) => status === 200,
          () => false,
        )
      }, 60_000)
    },
  }
}

interface Setting {
  readonly dir: string
  readonly port: string
  readonly text: string
  readonly servicePorts: readonly string[]
  readonly key: string
  readonly certificate: string
}

function nodesOf({ servicePorts }: Setting): string[] {
  return servicePorts.map((port) => `127.0.0.1:${port}`)
}

/** nginx with its file in deploy/, without TLS. @returns where it answers */
export async function startCache(t: Cleanup, servicePort: string): Promise<string> {
  const dir = tempDir(t)
  const port = await freePort('127.0.0.1')
  const text = readFileSync(join(ROOT, 'deploy', FILES.nginx), 'utf8')
    .replace('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_.*$/gm, '')
    .replace('/var/cache/nginx/countersign', join(dir, 'cache'))
  return startServer(t, startedBy(dir, text), dir, port)
}

/** Uses a self-signed certificate, because no authority issues one for localhost. */
function caddy(setting: Setting): string[] {
  const { dir, port, text, key, certificate } = setting
  const file = join(dir, 'Caddyfile')
  const global = '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'
  const site = `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}`
  const placed = text
    .replaceAll('127.0.0.1:8080', nodesOf(setting).join(' '))
    .replace('agents.example.com {', site)
  writeFileSync(file, global + placed)
  return ['caddy', 'run', '--config', file, '--adapter', 'caddyfile']
}

function nginx(setting: Setting): string[] {
  const { dir, port, text, key, certificate } = setting
  const site = text
    .replace(/^.*127\.0\.0\.1:8080.*\n/m, (line) =>
      nodesOf(setting)
        .map((node) => line.replace('127.0.0.1:8080', node))
        .join(''),
    )
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('agents.example.com', 'localhost')
    .replace('/var/cache/nginx/countersign', join(dir, 'cache'))
    .replace('/etc/ssl/countersign/fullchain.pem', certificate)
    .replace('/etc/ssl/countersign/privkey.pem', key)
  return startedBy(dir, site)
}

/** Writes what nginx reads. @returns the command that starts it */
function startedBy(dir: string, site: string): string[] {
  writeFileSync(join(dir, 'service.conf'), site)
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, nginxAround(dir, 'service.conf'))
  return ['nginx', '-p', dir, '-e', 'stderr', '-c', file]
}
