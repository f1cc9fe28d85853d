import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { createAuthority } from './certificates.ts'

/** A TLS-terminating proxy before a service, which itself speaks plain HTTP. */
export interface HttpsFront {
  /** A file with the certificate that its callers must trust. */
  readonly certificate: string
  close(): Promise<void>
}

/** Forwards every request to a local port, with a certificate for localhost. */
export async function startHttpsFront(
  dir: string,
  port: number,
  target: number,
): Promise<HttpsFront> {
  const certificate = join(dir, 'front-ca.pem')
  const authority = await createAuthority('test authority')
  writeFileSync(certificate, authority.certificate)
  const server = createServer(await authority.certify(['localhost']), (incoming, outgoing) => {
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
  })
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
