import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { run } from './service.ts'

/** A TLS front before a service, as a host would put one: the service itself speaks plain HTTP. */
export interface HttpsFront {
  /** The certificate that its callers must trust. */
  readonly certificate: string
  close(): Promise<void>
}

/** Makes a self-signed certificate for localhost with openssl and forwards every request to a local port. */
export async function startHttpsFront(
  dir: string,
  port: number,
  target: number,
): Promise<HttpsFront> {
  const key = join(dir, 'front-key.pem')
  const certificate = join(dir, 'front-cert.pem')
  const made = await run('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate],
  ])
  if (made.code !== 0) throw new Error(made.stderr)
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    (incoming, outgoing) => {
      const { method, url, headers } = incoming
      const forward = request(
        { host: 'localhost', port: target, method, path: url, headers },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
          answer.pipe(outgoing)
        },
      )
      forward.on('error', () => outgoing.writeHead(502).end())
      incoming.pipe(forward)
    },
  )
  await new Promise<void>((resolve) => server.listen(port, 'localhost', resolve))
  return {
    certificate,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
