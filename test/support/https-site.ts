import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createAuthority, type TestAuthority } from './certificates.ts'
import type { TestDns } from './dns-server.ts'
import type { Cleanup } from './service.ts'

/** A site's response at a path. */
export interface SitePage {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export type SiteHandler = (request: IncomingMessage, response: ServerResponse) => void

/** An HTTPS server on loopback, with a certificate that this process trusts. */
export interface HttpsSite {
  readonly port: number
  readonly names: readonly string[]
  /** Sets the response at a path, with its query, or without one for every query. Null removes it, so that it is a 404. */
  serve(path: string, page: SitePage | SiteHandler | null): void
  /** The requests it received, in order. */
  readonly requests: readonly SiteRequest[]
  /** The number of connections it accepted. */
  readonly connections: number
}

export interface SiteRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

interface Options {
  /** The names in its certificate, if they differ from those of the site. */
  readonly certifiedFor?: readonly string[]
  /** `unknown`: an authority that is not trusted. */
  readonly authority?: 'test' | 'unknown'
}

/**
 * Starts a site for names such as `agents.example.com`. Its certificate is issued by an authority that this process trusts.
 * Another process trusts it through NODE_EXTRA_CA_CERTS (`authorityFile`).
 */
export async function startHttpsSite(
  t: Cleanup,
  names: readonly string[],
  { certifiedFor = names, authority = 'test' }: Options = {},
): Promise<HttpsSite> {
  const pages = new Map<string, SitePage | SiteHandler>()
  const requests: SiteRequest[] = []
  let connections = 0
  const server = createServer(
    await (await authorityOf(authority)).issuer.certify(certifiedFor),
    (request, response) => {
      const { method = '', url = '', headers } = request
      requests.push({ method, url, headers })
      const page = pages.get(url) ?? pages.get(url.split('?')[0] as string)
      if (typeof page === 'function') page(request, response)
      else answer(response, page ?? { status: 404, body: 'Not found' })
    },
  )
  server.on('connection', () => connections++)
  // A client that rejects the certificate closes the connection.
  server.on('tlsClientError', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    port: (server.address() as AddressInfo).port,
    names,
    serve(path, page) {
      if (page === null) pages.delete(path)
      else pages.set(path, page)
    },
    requests,
    get connections() {
      return connections
    },
  }
}

/**
 * The settings with which a service uses the test's DNS servers and sites. Adds an address for every site to every DNS
 * server.
 */
export function outsideEnv(
  dnsServers: readonly TestDns[],
  sites: readonly HttpsSite[] = [],
): { DNS_RESOLVERS: string; LOOPBACK_HOSTS: string } {
  const hosts = sites.flatMap(({ names, port }) => names.map((name) => ({ name, port })))
  for (const dns of dnsServers) {
    for (const { name } of hosts) dns.set(name, 'A', ['127.0.0.1'])
  }
  return {
    DNS_RESOLVERS: dnsServers.map(({ address }) => address).join(','),
    LOOPBACK_HOSTS: hosts.map(({ name, port }) => `${name}:${port}`).join(','),
  }
}

/** The certificate file for NODE_EXTRA_CA_CERTS of another process. */
export async function authorityFile(): Promise<string> {
  return (await authorityOf('test')).file
}

function answer(response: ServerResponse, { status = 200, headers = {}, body = '' }: SitePage) {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers })
  response.end(body)
}

interface Authority {
  readonly issuer: TestAuthority
  /** Its certificate, in a file. */
  readonly file: string
}

const authorities = new Map<string, Promise<Authority>>()

/** One authority of each kind for the process, because each has to be added to the trusted ones. */
function authorityOf(kind: 'test' | 'unknown'): Promise<Authority> {
  const known = authorities.get(kind) ?? openAuthority(kind)
  authorities.set(kind, known)
  return known
}

async function openAuthority(kind: 'test' | 'unknown'): Promise<Authority> {
  const dir = mkdtempSync(join(tmpdir(), 'countersign-ca-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  const issuer = await createAuthority(`${kind} authority`)
  const file = join(dir, 'ca.pem')
  writeFileSync(file, issuer.certificate)
  if (kind === 'test')
    setDefaultCACertificates([...getCACertificates('default'), issuer.certificate])
  return { issuer, file }
}
