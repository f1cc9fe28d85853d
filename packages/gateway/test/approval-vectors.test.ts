import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { DelegationPolicy, RawRequest } from '@countersign/protocol'
import { type AgentObject, memoryNonceStore, Registry } from '@countersign/sdk'
import type { Decision } from '../src/decision/decision.ts'
import { gateway } from '../src/fetch.ts'
import type { PolicyInput } from '../src/policy/policy.ts'

interface VectorCase {
  readonly name: string
  readonly request: Omit<RawRequest, 'body'> & { readonly body: string | null }
  readonly policy?: NonNullable<PolicyInput['approval']>
  readonly after?: readonly string[]
}

interface Vectors {
  readonly now: number
  readonly audiences: readonly string[]
  readonly issuer: string
  readonly keySet: object
  readonly statusList: string
  readonly agents: readonly Readonly<Record<'publicKeyHex' | 'keyid' | 'did', string>>[]
  readonly delegation: DelegationPolicy
  readonly policy: NonNullable<PolicyInput['approval']>
  readonly valid: readonly (VectorCase & {
    readonly approval: Readonly<Record<'id' | 'by', string> & Record<'at' | 'expiresAt', number>>
  })[]
  readonly invalid: readonly (VectorCase & { readonly reason: string })[]
}

const file = new URL('../../../vectors/approvals.json', import.meta.url)
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors

const agentOf = (reference: string) =>
  vectors.agents.find(({ did }) => did.endsWith(reference.slice(-24))) ?? assert.fail(reference)

/** A service that answers as the vectors say; its responses have only what gateways read. */
class VectorRegistry extends Registry {
  constructor() {
    const documents: Readonly<Record<string, string>> = {
      '/.well-known/jwks.json': JSON.stringify(vectors.keySet),
      '/status/1': vectors.statusList,
    }
    super(vectors.issuer, {
      fetch: async (input) =>
        new Response(documents[new URL(String(input)).pathname] ?? assert.fail(String(input))),
    })
  }

  override async agent(reference: string): Promise<AgentObject> {
    const { keyid, publicKeyHex, did } = agentOf(reference)
    const publicKey = Buffer.from(publicKeyHex, 'hex').toString('base64')
    const key = { publicKey, keyThumbprint: keyid, keySequence: 2 }
    return { did, status: 'active', ...key } as unknown as AgentObject
  }

  override async lookup(): ReturnType<Registry['lookup']> {
    const owner = { identityMethod: 'in-person' }
    return { verified: true, certificate: { status: 'active' }, owner } as never
  }
}

/** A site that requires approvals as a case says, with a store of nonces that began 600 seconds ago. */
function siteFor({ policy: approval = vectors.policy }: VectorCase) {
  const decisions: Decision[] = []
  let now = vectors.now - 600_000
  const nonces = memoryNonceStore(undefined, () => now)
  now = vectors.now
  const { maxDepth, maxSeconds, mcp } = vectors.delegation
  const protect = gateway({
    service: new VectorRegistry(),
    audiences: vectors.audiences,
    nonces,
    clock: () => vectors.now,
    policy: { requireProof: true, delegation: { maxDepth, maxSeconds, mcp }, approval },
    onDecision: (decision) => decisions.push(decision),
  })
  const handler = protect(() => new Response())
  return async ({ request: { scheme, authority, target, method, headers, body } }: VectorCase) => {
    const init = { method, body, headers: headers.map(([name, value]) => [name, value]) }
    await handler(new Request(`${scheme}://${authority}${target}`, init as RequestInit))
    return decisions.at(-1) ?? assert.fail('no decision')
  }
}

test('a gateway decides on the requests of vectors/approvals.json', async () => {
  for (const each of vectors.valid) {
    const { action, approval, reasons } = await siteFor(each)(each)
    assert.equal(action, 'allow', `${each.name}: ${JSON.stringify(reasons)}`)
    const { id, by, at, expiresAt } = each.approval
    assert.deepEqual(approval, { id, by, at, expiresAt }, each.name)
  }
  for (const each of vectors.invalid) {
    const { name, after = [], reason } = each
    const visit = siteFor(each)
    for (const earlier of after) {
      const { action } = await visit(
        vectors.valid.find(({ name }) => name === earlier) ?? assert.fail(),
      )
      assert.equal(action, 'allow', name)
    }
    const { action, approval, reasons } = await visit(each)
    assert.deepEqual([action, approval], ['deny', null], name)
    // Headers that come twice reach it as one; what the signature itself says has another name.
    if (reason.startsWith('approval-')) assert.equal(reasons[0].code, reason, name)
  }
})
