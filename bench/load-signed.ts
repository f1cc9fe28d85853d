import { randomBytes } from 'node:crypto'
import { agentKeySetUrl, namingFor, signRequest } from '@countersign/protocol'
import sodium from 'sodium-native'
import { HOST } from './http-exchange.ts'
import { certifiedKey, type RealAgent } from './seed.ts'
import { type SendResult, sendRequests } from './send-requests.ts'

/** The task of the load script: requests of agents, each with a nonce of its own. */
export interface SignedLoadTask {
  readonly port: number
  /** Whose requests they are, in turns. */
  readonly agents: readonly RealAgent[]
  /** Where the agents' keys are published. */
  readonly issuer: string
  /** Whether requests are signed, or only name the agent. */
  readonly signed: boolean
  /** The origin of the site if a proxy asks countersign-gateway about requests; null: they go to the site itself. */
  readonly proxied: string | null
  readonly connections: number
  readonly seconds: number
}

/** More than a gateway admits in a second. They are signed before the load. If they are used up, the load ends earlier. */
const PREPARED_PER_SECOND = 12_000

// node load-signed.ts '<a SignedLoadTask as JSON>': sends each signed request once.
const task = JSON.parse(process.argv[2] as string) as SignedLoadTask
const { port, agents, issuer, signed, proxied, connections, seconds } = task
const naming = namingFor()
const origin = proxied ?? `http://${HOST}:${port}`
const signers = agents.map(({ tail, key }) => ({ tail, ...certifiedKey(key) }))

const requests: Buffer[] = []
for (let i = 0; i < (signed ? seconds * PREPARED_PER_SECOND : agents.length); i++) {
  requests.push(await requestOf(i))
}
let at = 0
const next = () =>
  signed ? (requests[at++] ?? null) : (requests[at++ % requests.length] as Buffer)
const sent: SendResult = await sendRequests({ port, connections, seconds, next })
console.log(`RESULT ${JSON.stringify(sent)}`)

async function requestOf(i: number): Promise<Buffer> {
  const { tail, publicKey, secretKey } = signers[i % signers.length] as (typeof signers)[number]
  const identification = [[naming.idHeader, `${naming.didPrefix}${tail}`] as const]
  const signature = signed
    ? await signRequest(
        { method: 'GET', url: `${origin}/`, headers: identification, body: null },
        {
          publicKey: new Uint8Array(publicKey),
          sign: async (message) => {
            const bytes = Buffer.alloc(sodium.crypto_sign_BYTES)
            sodium.crypto_sign_detached(bytes, Buffer.from(message), secretKey)
            return new Uint8Array(bytes)
          },
          signatureAgent: { dialect: 'ietf', url: agentKeySetUrl(issuer, tail) },
          naming,
          createdAt: Date.now(),
          nonce: randomBytes(18).toString('base64url'),
        },
      )
    : []
  const lines = [...identification, ...signature].map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${headOf()}${lines.join('')}\r\n`)
}

/** As a proxy such as nginx asks, or as the agent sends it. */
function headOf(): string {
  const host = `Host: ${HOST}:${port}\r\n`
  if (proxied === null) return `GET / HTTP/1.1\r\n${host}`
  const { host: name, protocol } = new URL(proxied)
  const forwarded = [
    'Method: GET',
    'Uri: /',
    `Host: ${name}`,
    `Proto: ${protocol.slice(0, -1)}`,
    'For: 192.0.2.1',
  ]
  return `GET /auth/nginx HTTP/1.1\r\n${host}${forwarded.map((each) => `X-Forwarded-${each}\r\n`).join('')}`
}
