import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { enrolmentEndMessage, enrolmentMessage, keyThumbprint } from '@countersign/protocol'
import { CompactSign } from 'jose'
import type { Answer } from './answer.ts'
import { post } from './ask.ts'
import { newKey, type TestKey } from './key.ts'
import type { Cleanup, TestService } from './service.ts'

/** A platform that issues tokens to its workloads. */
export interface TestPlatform {
  readonly issuer: string
  /** Its public keys. */
  readonly jwks: { readonly keys: readonly Record<string, unknown>[] }
  /** Signs a token with these claims beside `iss`, `iat` and `exp`. @param header replaces members of the header */
  token(claims: object, header?: object): Promise<string>
}

/** A platform with an RSA key of its own, as GitHub and Kubernetes have. @param now milliseconds since 1970 */
export function newPlatform(
  issuer = 'https://platform.example',
  now: () => number = Date.now,
  kid = 'key-1',
): TestPlatform {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return {
    issuer,
    jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] },
    token: (claims, header = {}) => {
      const iat = Math.floor(now() / 1000)
      const payload = { iss: issuer, iat, exp: iat + 600, ...claims }
      return signToken(privateKey, { alg: 'RS256', kid, typ: 'JWT', ...header }, payload)
    },
  }
}

/** The JWK thumbprint (RFC 7638) of a key, which ends the audience of a token that is bound to it. */
export function thumbprintOf({ publicKey }: TestKey): string {
  return keyThumbprint(Buffer.from(publicKey, 'base64'))
}

/** Signs a JWT. */
export function signToken(key: KeyObject, header: object, payload: object): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader(header as { alg: string })
    .sign(key)
}

/** A rule for workloads of a platform with the subject `system:serviceaccount:crawl:crawler`. */
export function ruleFor({ issuer, jwks }: TestPlatform, more: object = {}): object {
  return {
    name: 'crawler pods',
    issuer,
    keys: { jwks },
    match: { '/sub': SUBJECT },
    binding: 'token',
    agentId: 'crawler',
    ...more,
  }
}

export const SUBJECT = 'system:serviceaccount:crawl:crawler'

/** The body of an enrolment, signed by a key. */
export function enrolmentBody(
  { settings }: Pick<TestService, 'settings'>,
  rule: string,
  token: string,
  key: TestKey = newKey(),
  issuedAt = Math.floor(Date.now() / 1000),
): Record<string, unknown> {
  const service = settings.baseUrl.origin
  const publicKey = Buffer.from(key.publicKey, 'base64')
  const signed = { service, rule, token, publicKey, issuedAt }
  const message = enrolmentMessage(settings.naming, signed)
  const signature = sign(null, message, key.privateKey).toString('base64')
  return { rule, token, publicKey: key.publicKey, issuedAt, signature }
}

export function enrol(service: TestService, body: unknown): Promise<Answer> {
  return post(service, '/api/v1/enrol', body)
}

/** Ends an agent by a signature of its key. @param key that signs; the message is about `did` and its own thumbprint */
export function endEnrolment(
  service: TestService,
  did: string,
  key: TestKey,
  issuedAt = Math.floor(Date.now() / 1000),
): Promise<Answer> {
  const publicKey = Buffer.from(key.publicKey, 'base64')
  const signed = { service: service.settings.baseUrl.origin, did, publicKey, issuedAt }
  const message = enrolmentEndMessage(service.settings.naming, signed)
  const signature = sign(null, message, key.privateKey).toString('base64')
  return post(service, `/api/v1/agent/${did}/enrolment/end`, { issuedAt, signature })
}

/** The web server of an issuer on this machine, with discovery. */
export interface TestIssuer {
  readonly url: string
  /** What it serves, which a test replaces. */
  jwks: { readonly keys: readonly object[] }
  /** The issuer that its discovery document names. */
  issuer: string
  isAway: boolean
  /** Whether it accepts connections and says nothing. */
  isSilent: boolean
  /** How often its keys were read. */
  reads: number
}

/** Starts an issuer on loopback, where a service on loopback may fetch without TLS. */
export async function startIssuer(t: Cleanup): Promise<TestIssuer> {
  const issuer = {
    ...{ url: '', issuer: '', jwks: { keys: [] as object[] } },
    ...{ isAway: false, isSilent: false, reads: 0 },
  }
  const server = createServer(({ url }, response) => {
    if (issuer.isSilent) return
    if (issuer.isAway) return void response.writeHead(500).end()
    response.setHeader('content-type', 'application/json')
    if (url === '/.well-known/openid-configuration') {
      return void response.end(
        JSON.stringify({ issuer: issuer.issuer, jwks_uri: `${issuer.url}/keys` }),
      )
    }
    issuer.reads += 1
    response.end(JSON.stringify(issuer.jwks))
  })
  await new Promise<void>((listening) => server.listen(0, 'localhost', listening))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  issuer.url = `http://localhost:${(server.address() as AddressInfo).port}`
  issuer.issuer = issuer.url
  return issuer
}
