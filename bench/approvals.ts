import './without-sodium.ts'
import assert from 'node:assert/strict'
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import {
  type ApprovalPolicy,
  type IssuerJwk,
  namingFor,
  type RawRequest,
  readApprovalToken,
  requestVerifier,
  verifyApprovalToken,
} from '@countersign/protocol'
import { NEEDS_APPROVAL, withApproval } from '../packages/gateway/test/support/approvals.ts'
import { startIssuerSite } from '../packages/gateway/test/support/issuer-site.ts'
import { offlineAgent, startOfflineSite } from '../packages/gateway/test/support/offline.ts'
import { optionsOf } from '../packages/protocol/test/support/delegation.ts'
import { requestOf } from '../packages/protocol/test/support/signed-requests.ts'
import { readVectors } from '../packages/protocol/test/support/vectors.ts'
import { approvalToken, PURCHASE } from '../test/support/approval-token.ts'
import { inTurns } from './in-turns.ts'
import type { Approvals, ApprovalsTask } from './measure-approvals.ts'

// node approvals.ts '{"turns":…}': requests with an approval beside those without. Prints `RESULT {…}`.

const { turns } = JSON.parse(process.argv[2] ?? '') as ApprovalsTask
const undo: (() => unknown)[] = []
const cleanup = { after: (each: () => unknown) => void undo.push(each) }

const vectors = readVectors<{
  readonly issuer: string
  readonly now: number
  readonly keySet: { readonly keys: readonly IssuerJwk[] }
  readonly audiences: readonly string[]
  readonly policy: ApprovalPolicy
  readonly valid: readonly {
    readonly request: Omit<RawRequest, 'body'> & { readonly body: null }
  }[]
}>('approvals.json')
const approved = requestOf(vectors.valid[0]?.request ?? assert.fail('no request'))
const keys = new Map<IssuerJwk, KeyObject>(
  vectors.keySet.keys.map((jwk) => [jwk, createPublicKey({ key: jwk as never, format: 'jwk' })]),
)

/** As a site does with keys that it has read before. */
async function verifyToken(text: string) {
  const token = readApprovalToken(text, namingFor())
  const expected = { issuer: vectors.issuer, keys: vectors.keySet.keys, now: vectors.now / 1000 }
  await verifyApprovalToken(token, expected, (jwk, message, signature) =>
    verify(null, message, keys.get(jwk) ?? assert.fail('no key'), signature),
  )
  return token.claims
}

/** A verifier for each request, since the store of nonces admits one once. */
function verifying(approval: boolean) {
  const policy = { ...vectors.policy, verifyToken }
  let ready: ReturnType<typeof requestVerifier>[] = []
  return {
    prepare(runs: number) {
      const options = () =>
        optionsOf(
          { delegation: null },
          { audiences: vectors.audiences, approval: approval ? policy : null },
        )
      ready = Array.from({ length: runs }, () => requestVerifier(options()))
    },
    async run() {
      const { reason } = await (ready.pop() ?? assert.fail('no verifier'))(approved)
      assert.equal(reason, null)
    },
  }
}

const issuer = await startIssuerSite(cleanup)
const site = startOfflineSite(cleanup, [issuer], { policy: NEEDS_APPROVAL })
const agent = offlineAgent(issuer.origin)
const certificate = await issuer.issuer.certificate(agent)
await issuer.untilFollowed()

/** Requests through a gateway that trusts the issuer, with a memory store. */
function admitting(needsApproval: boolean) {
  let requests: Request[] = []
  return {
    async prepare(runs: number) {
      requests = []
      for (let i = 0; i < runs; i += 1) {
        const token = needsApproval ? await approvalToken(issuer.issuer, agent.did) : null
        const elsewhere = { ...PURCHASE, url: 'https://shop.example/carts' }
        const request = needsApproval
          ? withApproval(agent, { certificate }, token)
          : withApproval(agent, { certificate }, null, elsewhere)
        requests.push(await request)
      }
    },
    async run() {
      const { status } = await site.send(requests.pop() ?? assert.fail('no request'))
      assert.equal(status, 200)
    },
  }
}

const result: Approvals = await inTurns(
  {
    signature: verifying(false),
    signatureAndApproval: verifying(true),
    request: { ...admitting(false), together: true },
    approvedRequest: { ...admitting(true), together: true },
  },
  turns,
)
console.log(`RESULT ${JSON.stringify(result)}`)
for (const each of undo.toReversed()) await each()
