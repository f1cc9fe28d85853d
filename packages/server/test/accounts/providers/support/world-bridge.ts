import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import { hashSignal } from '@worldcoin/idkit-core/hashing'
import { type Answer, startLoopbackServer } from '../../../http/outbound/support/loopback-server.ts'
import { nullifierFor, proofOf } from './world.ts'

interface Sealed {
  readonly iv: string
  readonly payload: string
}

/** The members of IDKit 4.3's bridge request that World App uses. */
interface Request {
  readonly proof_request: {
    readonly id: string
    readonly created_at: number
    readonly rp_id: string
    readonly action: string
    readonly nonce: string
    readonly proof_requests: readonly [
      { readonly issuer_schema_id: number; readonly signal: string },
    ]
  }
  readonly allow_legacy_proofs: boolean
}

/** World's bridge (worldcoin/wallet-bridge), which relays encrypted messages between the browser and World App. */
export async function startWorldBridge(t: { after(end: () => unknown): void }) {
  const requests = new Map<string, { request: Sealed; response: Sealed | null }>()
  const cors = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }
  const server = await startLoopbackServer(t, ({ method, path, body }): Answer => {
    if (method === 'OPTIONS') return { status: 204, headers: cors }
    if (method === 'POST' && path === '/request') {
      const request_id = randomUUID()
      requests.set(request_id, { request: JSON.parse(body), response: null })
      return { status: 200, headers: cors, body: { request_id } }
    }
    const response = requests.get(path.split('/')[2] ?? '')?.response ?? null
    const status = response === null ? 'initialized' : 'completed'
    return { status: 200, headers: cors, body: { status, response } }
  })

  /** Acts as World App after it scanned the QR code. `answer` creates the response from the request. */
  function scan(connectorUri: string, answer: (request: Request) => object): void {
    const { searchParams: query } = new URL(connectorUri)
    const key = Buffer.from(query.get('k') ?? '', 'base64')
    const entry = requests.get(query.get('i') ?? '')
    if (entry === undefined) throw new Error('the bridge knows no such request')
    const request: Request = JSON.parse(open(key, entry.request))
    entry.response = seal(key, JSON.stringify(answer(request)))
  }

  return { ...server, scan }
}

/** The response of World App after the user consents. */
export function saysYes(human: string): (request: Request) => object {
  return ({ proof_request: { id, created_at, rp_id, action, nonce, proof_requests } }) => {
    const [{ issuer_schema_id, signal }] = proof_requests
    const nullifier = nullifierFor(human, rp_id, action)
    const signal_hash = hashSignal(signal)
    const expires_at_min = created_at
    const inputs = { nonce, action, issuer_schema_id, signal_hash, nullifier, expires_at_min }
    const proof = proofOf(inputs).map((part) => part.toString(16).padStart(64, '0'))
    const response = {
      identifier: 'proof_of_human',
      issuer_schema_id,
      proof: proof.join(''),
      nullifier: nullifier.replace('0x', 'nil_'),
      expires_at_min,
    }
    return { id, version: 1, responses: [response] }
  }
}

/** AES-256-GCM with the tag appended. */
function open(key: Buffer, { iv, payload }: Sealed): string {
  const sealed = Buffer.from(payload, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64'))
  decipher.setAuthTag(sealed.subarray(-16))
  return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString()
}

function seal(key: Buffer, text: string): Sealed {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const sealed = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()])
  return { iv: iv.toString('base64'), payload: sealed.toString('base64') }
}
