import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type {
  AgentObject,
  DelegationHop,
  DelegationPolicy,
  NonceStore,
  RawRequest,
  SignatureReason,
} from '../../src/index.ts'
import { Registry } from '../../src/registry.ts'
import { verifyRequest } from '../../src/relying-party/verify-request.ts'

interface VectorCase {
  readonly name: string
  readonly request: RawRequest & { readonly body?: null }
  readonly delegation?: DelegationPolicy | null
  readonly statusList?: null
}

interface Vectors {
  readonly now: number
  readonly audiences: readonly string[]
  readonly issuer: string
  readonly keySet: object
  readonly statusList: string
  readonly agents: readonly (Record<'publicKeyHex' | 'keyid' | 'did' | 'status', string> & {
    readonly keySequence: number
  })[]
  readonly delegation: DelegationPolicy
  readonly valid: readonly (VectorCase & { readonly hops: readonly DelegationHop[] })[]
  readonly invalid: readonly (VectorCase & {
    readonly reason: SignatureReason
    readonly fault?: string
    readonly after?: readonly string[]
  })[]
}

const file = new URL('../../../../vectors/delegation.json', import.meta.url)
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors

/** A service that answers as the vectors say; a lookup has only what verifiers read. */
class VectorRegistry extends Registry {
  override async agent(tail: string): Promise<AgentObject> {
    const agent = vectors.agents.find(({ did }) => did.endsWith(tail)) ?? assert.fail()
    const publicKey = Buffer.from(agent.publicKeyHex, 'hex').toString('base64')
    return { ...agent, publicKey, keyThumbprint: agent.keyid } as unknown as AgentObject
  }
}

function registryFor({ statusList }: VectorCase): Registry {
  return new VectorRegistry(vectors.issuer, {
    fetch: async (input) => {
      const url = String(input)
      if (url === `${vectors.issuer}/.well-known/jwks.json`) {
        return new Response(JSON.stringify(vectors.keySet))
      }
      assert.equal(url, `${vectors.issuer}/status/1`)
      return statusList === null
        ? new Response(null, { status: 503 })
        : new Response(vectors.statusList)
    },
  })
}

async function resultOf(each: VectorCase, nonces: NonceStore) {
  const { delegation = vectors.delegation } = each
  return verifyRequest(each.request, {
    registry: registryFor(each),
    audiences: vectors.audiences,
    nonces,
    delegation,
    now: () => vectors.now,
  })
}

function newNonces(): NonceStore {
  const used = new Set<string>()
  return {
    record({ hash }) {
      const outcome = used.has(hash) ? 'used' : 'fresh'
      used.add(hash)
      return outcome
    },
  }
}

test('verifyRequest accepts the valid requests of the vectors, with the lookup and the lists of a service', async () => {
  for (const each of vectors.valid) {
    const { reason, delegation } = await resultOf(each, newNonces())
    assert.equal(reason, null, each.name)
    assert.deepEqual(delegation?.hops, each.hops, each.name)
  }
})

test('verifyRequest refuses the invalid ones for the same reason as without a network', async () => {
  for (const each of vectors.invalid) {
    const nonces = newNonces()
    for (const name of each.after ?? []) {
      const earlier = vectors.valid.find((valid) => valid.name === name) ?? assert.fail()
      assert.equal((await resultOf(earlier, nonces)).reason, null, name)
    }
    const { verdict, reason, delegation } = await resultOf(each, nonces)
    const got = [reason, delegation?.fault ?? null]
    assert.deepEqual(got, [each.reason, each.fault ?? null], each.name)
    assert.notEqual(verdict, 'verified')
  }
})
