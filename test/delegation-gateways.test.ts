import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { type DelegationPolicy, encodeBase64, namingFor, parseJws } from '@countersign/protocol'
import { CountersignError, verifyCertificate } from '@countersign/sdk'
import type { Outcome } from '../packages/gateway/src/decision/outcome.ts'
import { Gate } from '../packages/gateway/src/gate.ts'
import type { GatewayOptions, RegistryClient } from '../packages/gateway/src/options.ts'
import type { PolicyIssuer } from '../packages/gateway/src/policy/policy.ts'
import { isSigned } from '../packages/gateway/src/request/headers.ts'
import { type IssuerSite, startIssuerSite } from '../packages/gateway/test/support/issuer-site.ts'
import { vectors } from '../packages/protocol/test/support/delegation.ts'
import { requestOf } from '../packages/protocol/test/support/signed-requests.ts'
import { bytesOf } from '../packages/protocol/test/support/vectors.ts'
import { fileCleanup } from './support/file-cleanup.ts'

const { issuer, now: NOW, audiences, keySet, statusList } = vectors
const naming = namingFor(vectors.shortName, vectors.idHeader)
const cleanup = fileCleanup()
const now = () => performance.now()
let site: IssuerSite
/** The issuer follows its own feed under keys of the test, since those of the vectors are not known. */
let trust: PolicyIssuer[]

before(async () => {
  site = await startIssuerSite(cleanup, () => NOW, issuer)
  const claims = parseJws(statusList).payload as { status_list: { lst: string } }
  site.issuer.list(1).set(inflateSync(Buffer.from(claims.status_list.lst, 'base64url')))
  const jwks = { keys: [...keySet.keys, ...site.issuer.keySet().keys] }
  trust = [{ issuer, didPrefix: naming.didPrefix, jwks, idHeader: vectors.idHeader }]
})

/** The service of the vectors. @param lists null: they cannot be read */
function serviceOf(lists: readonly string[] | null): RegistryClient {
  const find = (did: string) => {
    const agent = vectors.agents.find((each) => each.did === did)
    if (agent === undefined) throw new CountersignError('NOT_FOUND', 'no such agent')
    return agent
  }
  const client = {
    service: site.base,
    naming: { shortName: vectors.shortName, idHeader: vectors.idHeader },
    lookup: async (did: string) => {
      const { status } = find(did)
      const owner = { identityMethod: 'in-person', identityLevel: 'verified', claimedAt: '' }
      const certificate = { id: did, status, verifyUrl: '' }
      return { verified: status === 'active', owner, certificate }
    },
    agent: async (did: string) => {
      const { publicKeyHex, keyid, keySequence } = find(did)
      const publicKey = encodeBase64(bytesOf(publicKeyHex))
      const keyChangedAt = new Date(NOW - 86_400_000).toISOString()
      return { publicKey, keyThumbprint: keyid, keySequence, keyChangedAt }
    },
    grade: async () => assert.fail('no grade is asked for'),
    verifyCertificate: async (token: string) => {
      if (lists === null) throw new CountersignError('ISSUER_UNAVAILABLE', 'no list')
      const issuers = [{ issuer, jwks: keySet }]
      return verifyCertificate(token, { issuers, statusLists: lists, now: () => NOW })
    },
  }
  return client as unknown as RegistryClient
}

/** A store that is older than every request. */
function nonceStore() {
  const used = new Set<string>()
  return {
    record: ({ hash }: { readonly hash: string }) => {
      if (used.has(hash)) return 'used' as const
      used.add(hash)
      return 'fresh' as const
    },
  }
}

const MODES = ['following', 'asking'] as const

function gateOf(
  mode: (typeof MODES)[number],
  delegation: DelegationPolicy | null,
  lists: readonly string[] | null = [statusList],
): Gate {
  const options: GatewayOptions = {
    service: serviceOf(lists),
    issuer,
    audiences,
    nonces: nonceStore(),
    clock: () => NOW,
    now,
    timeoutMs: 30_000,
    policy: { requireProof: true, delegation, ...(mode === 'following' && { trust }) },
  }
  return new Gate({ ...options, followsIssuers: mode === 'following' })
}

type VectorRequest = Parameters<typeof requestOf>[0]

async function decideOn(gate: Gate, request: VectorRequest): Promise<Outcome> {
  const raw = requestOf(request)
  const field = (lower: string) => {
    const values = raw.headers.filter(([name]) => name.toLowerCase() === lower)
    return values.length === 0 ? null : values.map(([, value]) => value).join(', ')
  }
  return gate.decide({
    method: raw.method,
    target: raw.target,
    identification: field(gate.idHeader),
    authorization: null,
    address: () => null,
    preflight: false,
    signed: isSigned({ get: field }),
    raw: () => raw,
    readBody: null,
  })
}

/** Where gateways say something else, because their rules decide once a chain is proven: by the case. */
const BY_RULES: Readonly<Record<string, string>> = {
  'the agent is suspended': 'not-admitted',
  'what is no chain, where the verifier accepts none': 'delegation-invalid',
}

for (const mode of MODES) {
  test(`${mode}: every vector is decided as verifiers decide it`, async () => {
    const followed = gateOf('following', vectors.delegation)
    for (const { name, request, did, hops } of vectors.valid) {
      const gate = gateOf(mode, vectors.delegation)
      for (const time of ['first', 'second']) {
        const { decision } = await decideOn(gate, request)
        if (time === 'second' && decision.signature?.reason === 'replay') continue
        assert.equal(decision.action, 'allow', `${name}: ${JSON.stringify(decision)}`)
        const last = hops.at(-1)
        assert.deepEqual(
          [decision.did, decision.delegation],
          [did, { keyid: last?.keyid, depth: hops.length, expiresAt: last?.expiresAt }],
        )
      }
      await gate.close()
    }
    for (const each of vectors.invalid) {
      const { name, request, reason, delegation = vectors.delegation, after = [] } = each
      // That a list cannot be read is about gateways that ask: the others have read it before.
      if (each.statusList === null && mode === 'following') continue
      const gate = gateOf(mode, delegation, each.statusList === null ? null : undefined)
      for (const earlier of after) {
        const valid = vectors.valid.find((other) => other.name === earlier)
        const { decision } = await decideOn(gate, (valid ?? assert.fail(earlier)).request)
        assert.equal(decision.action, 'allow', earlier)
      }
      const { decision } = await decideOn(gate, request)
      assert.equal(decision.action, 'deny', name)
      assert.equal(decision.signature?.reason, BY_RULES[name] ?? reason, name)
      assert.ok(
        decision.signature?.verdict === 'invalid' ||
          each.case === null ||
          [26, 52].includes(each.case),
        name,
      )
      await gate.close()
    }
    await followed.close()
  })
}
