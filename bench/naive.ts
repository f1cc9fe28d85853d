import { createHash, createPublicKey, randomInt, verify } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import express, { type Request, type Response } from 'express'

// A straightforward implementation: Express, SQLite, node:crypto, one query per request, one transaction per claim.
const { PORT, HOST, DATABASE, BASE_URL } = process.env as Record<string, string>
const db = new DatabaseSync(DATABASE as string, { timeout: 5000 })
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')

const SELECT = `SELECT a.*, o.username AS owner_username, o.display_name AS owner_name, o.name_changed_at,
    v.provider, v.assurance, v.verified_at, v.published_name
  FROM agents a JOIN owners o ON o.id = a.owner_id
  LEFT JOIN identity_verifications v
    ON v.owner_id = o.id AND (v.expires_at IS NULL OR v.expires_at > ?)`
const byTail = db.prepare(`${SELECT} WHERE a.tail = ? ORDER BY v.verified_at DESC LIMIT 1`)
const byKey = db.prepare(`${SELECT} WHERE a.public_key = ?
  ORDER BY a.status = 'revoked', a.status = 'suspended', a.seq, v.verified_at DESC LIMIT 1`)
const channelsOf = db.prepare('SELECT kind, handle_or_domain, tier FROM channels WHERE tail = ?')
const tokenByHash = db.prepare('SELECT * FROM claim_tokens WHERE hash = ?')
const redeem = db.prepare(`UPDATE claim_tokens SET used_at = ?
  WHERE hash = ? AND used_at IS NULL AND superseded_at IS NULL AND expires_at > ? RETURNING owner_id`)
const insertAgent =
  db.prepare(`INSERT INTO agents (tail, public_key, key_thumbprint, agent_id, owner_id, status,
    status_set_by, pair_slot, claimed_at, status_changed_at, updated_at, version)
  VALUES (?, ?, ?, ?, ?, 'active', 'owner', 0, ?, ?, ?, 0)`)

// biome-ignore lint/suspicious/noExplicitAny: rows as they come out of the database, as in many a small service
type Row = any
const DAY_MS = 86_400_000
const iso = (time: number) => new Date(time).toISOString()
const nameOf = (row: Row) => row.display_name ?? row.username ?? `Agent ${row.tail.slice(0, 6)}`
const pathOf = (row: Row) => `/agent/${row.username ?? `svc:agent:${row.tail}`}`
const fail = (response: Response, status: number, code: string, message: string) =>
  response.status(status).json({ error: { code, message, requestId: 'req_1' } })

/** Passes the agent in the path to `answer`, or responds with 400 or 404. */
function withAgent(answer: (row: Row, request: Request, response: Response) => unknown) {
  return (request: Request, response: Response) => {
    const tail = /^(?:svc:agent:)?([1-9A-HJ-NP-Za-km-z]{24})$/.exec(request.params.did as string)
    if (tail === null) return fail(response, 400, 'VALIDATION_ERROR', 'Not a DID.')
    const row = byTail.get(Date.now(), tail[1] as string)
    if (row === undefined) return fail(response, 404, 'NOT_FOUND', 'No such agent.')
    return answer(row, request, response)
  }
}

function isSignatureOf(publicKey: string, message: string, signature: string): boolean {
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, Buffer.from(message), key, Buffer.from(signature, 'base64'))
}

function lookup(row: Row, _request: Request, response: Response) {
  const identityLevel = row.provider === null ? 'unverified' : 'verified'
  const { status, provider: identityMethod } = row
  response.json({
    verified: status === 'active',
    owner: { identityMethod, identityLevel, claimedAt: iso(row.claimed_at) },
    certificate: { id: `svc:agent:${row.tail}`, status, verifyUrl: pathOf(row) },
  })
}

function card(row: Row, _request: Request, response: Response) {
  const did = `svc:agent:${row.tail}`
  const channels = channelsOf.all(row.tail) as Row[]
  const tier = channels.reduce((best, each) => Math.max(best ?? 0, each.tier), null)
  const identity = row.provider === null ? 0 : row.assurance === 'low' ? 1 : 2
  const verifiedAt = row.provider && iso(row.verified_at - (row.verified_at % DAY_MS))
  const isNewName = row.name_changed_at !== null && Date.now() - row.name_changed_at < 90 * DAY_MS
  const label = row.provider === 'in-person' ? 'In person' : row.provider
  response.json({
    svcDid: did,
    displayName: nameOf(row),
    username: row.username,
    description: row.description ?? '',
    avatarUrl: `${BASE_URL}/api/agents/${did}/avatar.svg`,
    status: row.status,
    claimedAt: iso(row.claimed_at),
    owner: { displayName: row.owner_name, username: row.owner_username },
    ownerName: {
      selfDeclared: true,
      changedAt: isNewName ? iso(row.name_changed_at) : null,
      verified: row.published_name && {
        name: row.published_name,
        provider: row.provider,
        label,
        verifiedAt,
      },
    },
    verification: row.provider && { provider: row.provider, label, verifiedAt },
    channels: channels.map((each) => ({ kind: each.kind, handleOrDomain: each.handle_or_domain })),
    grade: row.status === 'active' ? 'EDCBA'[identity + (tier ?? 0)] : 'E',
    tier,
    gradeIsFallback: tier === 1,
    certificateUrl: `${BASE_URL}${pathOf(row)}`,
  })
}

function didDocument(row: Row, request: Request, response: Response) {
  if (!request.accepts(['application/did+json'])) return card(row, request, response)
  const did = `svc:agent:${row.tail}`
  const id = `did:web:${new URL(BASE_URL as string).host.replace(':', '%3A')}:agent:${did}`
  const key = {
    id: `${id}#key-1`,
    type: 'Ed25519VerificationKey2020',
    controller: id,
    publicKeyBase64: Buffer.from(row.public_key).toString('base64'),
  }
  const serviceEndpoint = `${BASE_URL}/api/agents/${did}`
  response.type('application/did+json').json({
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id,
    controller: id,
    verificationMethod: row.status === 'revoked' ? [] : [key],
    authentication: row.status === 'active' ? [key.id] : [],
    service: [{ id: `${id}#agent-service`, type: 'AgentService', serviceEndpoint }],
  })
}

function verifyChallenge(request: Request, response: Response) {
  const { publicKey, challenge, signature } = request.body as Record<string, string>
  if (!publicKey || !challenge || !signature) {
    return fail(response, 400, 'VALIDATION_ERROR', 'A field is missing.')
  }
  if (!isSignatureOf(publicKey, challenge, signature)) {
    return fail(response, 401, 'INVALID_SIGNATURE', 'The signature is wrong.')
  }
  const row: Row = byKey.get(Date.now(), Buffer.from(publicKey, 'base64'))
  if (row === undefined) return fail(response, 404, 'NOT_FOUND', 'No such key.')
  return response.json({
    verified: row.status === 'active',
    signatureValid: true,
    certified: true,
    identityLevel: row.provider ?? 'unverified',
    agent: { svcDid: `svc:agent:${row.tail}`, displayName: nameOf(row), status: row.status },
  })
}

function claim(request: Request, response: Response) {
  const { claimToken, agentId, publicKey, signature } = request.body as Record<string, string>
  if (!claimToken || !agentId || !publicKey || !signature) {
    return fail(response, 400, 'VALIDATION_ERROR', 'A field is missing.')
  }
  const hash = createHash('sha256').update(claimToken).digest()
  const token: Row = tokenByHash.get(hash)
  const now = Date.now()
  if (token === undefined) return fail(response, 404, 'NOT_FOUND', 'No such token.')
  if (token.used_at !== null || token.superseded_at !== null || token.expires_at <= now) {
    return fail(response, 410, 'TOKEN_EXPIRED', 'The token cannot be used any more.')
  }
  if (!isSignatureOf(publicKey, `${claimToken}|${agentId}`, signature)) {
    return fail(response, 401, 'INVALID_SIGNATURE', 'The signature is wrong.')
  }
  const tail = Array.from({ length: 24 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
  db.exec('BEGIN IMMEDIATE')
  try {
    const { owner_id } = redeem.get(now, hash, now) as Row
    const key = Buffer.from(publicKey, 'base64')
    const jwk = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x: key.toString('base64url') })
    const thumbprint = createHash('sha256').update(jwk).digest()
    insertAgent.run(tail, key, thumbprint, agentId, owner_id, now, now, now)
    db.exec('COMMIT')
  } catch {
    db.exec('ROLLBACK')
    return fail(response, 409, 'KEY_ALREADY_CLAIMED', 'The pair is taken.')
  }
  const message = 'The agent is certified.'
  return response.json({ success: true, message, svcDid: `svc:agent:${tail}` })
}
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

express()
  .use(express.json())
  .get('/api/v1/agent/:did', withAgent(lookup))
  .get('/api/agents/:did/card', withAgent(card))
  .get('/api/agents/:did', withAgent(didDocument))
  .post('/api/v1/agent/verify', verifyChallenge)
  .post('/api/v1/claim', claim)
  .listen(Number(PORT), HOST as string)
