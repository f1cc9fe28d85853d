import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../support/key.ts'
import { type Cleanup, claimBody } from '../../support/service.ts'
import { ask, type Reply, saysOf } from './ask.ts'
import type { OwnerHeaders } from './cluster.ts'

/** After 503 or silence callers ask the other node, so much later. */
const AGAIN_AFTER_MS = 50

/**
 * What a caller was told of something that it asked for: that it is done; that it had been done at an earlier request
 * already, whose answer never came or did not know; or, by the end of the load, no more than that nothing was changed.
 */
export type Told = 'done' | 'done before' | 'not done' | 'not known'

export interface ClaimMade {
  readonly owner: OwnerHeaders
  readonly publicKey: string
  readonly told: Told
  /** Where it is done. */
  readonly did: string | null
}

export interface RevocationMade {
  readonly did: string
  readonly told: Told
  /** When the answer came, by `performance.now()`. */
  readonly at: number
}

interface Outcome {
  readonly told: Told
  readonly reply: Reply | null
  /** Which node gave the last answer. */
  readonly node: number
}

/** Owners at two nodes: each has tokens issued, claims agents with them, and revokes every second one. */
export class OwnerLoad {
  readonly claims: ClaimMade[] = []
  readonly revocations: RevocationMade[] = []
  /** When requests that were acknowledged began, by what was asked for. */
  readonly acknowledged: Record<string, { readonly began: number; readonly at: number }[]> = {}
  /** Answers that were not what was asked for, and how often: `503 UNAVAILABLE: The database …`. */
  readonly failures = new Map<string, number>()
  /** Answers that contradict another answer. */
  readonly contradictions: string[] = []
  /** The longest that an answer took, in milliseconds. */
  longestAnswer = 0
  /** Called with each revocation that was acknowledged, and the URL of the node that did. */
  onRevoked: (revocation: RevocationMade, node: string) => void = () => undefined
  readonly #nodes: readonly { readonly url: string }[]
  readonly #pauseMs: number
  readonly #running: Promise<void>
  #stopping = false

  /**
   * @param t ends with the test, however that ends
   * @param pauseMs how long each owner waits between two agents
   */
  constructor(
    t: Cleanup,
    nodes: readonly { readonly url: string }[],
    owners: readonly OwnerHeaders[],
    pauseMs = 10,
  ) {
    this.#nodes = nodes
    this.#pauseMs = pauseMs
    t.after(() => this.stop())
    this.#running = Promise.all(owners.map((owner, i) => this.#live(owner, i))).then(
      () => undefined,
    )
  }

  /** Begins nothing more; resolves once callers know what became of what they have asked for, or have given up. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#running
  }

  /** When the first claim was acknowledged of those that were sent after a moment; fails where none is in a minute. */
  async firstClaimAfter(moment: number): Promise<number> {
    for (const deadline = moment + 60_000; performance.now() < deadline; ) {
      const since = (this.acknowledged.claim ?? []).filter(({ began }) => began >= moment)
      if (since.length > 0) return Math.min(...since.map(({ at }) => at))
      await sleep(5)
    }
    throw new Error('no claim was acknowledged for a minute')
  }

  async #live(owner: OwnerHeaders, first: number): Promise<void> {
    let node = first
    for (let round = 0; !this.#stopping; round++) {
      const issued = await this.#insist('token', node, 201, (url) =>
        ask('POST', `${url}/api/agents/token`, owner, {}),
      )
      node = issued.node
      if (issued.told === 'done') {
        const token = issued.reply?.body.claimToken as string
        const claimed = await this.#claim(owner, token, node)
        node = claimed.node
        if (claimed.did !== null && round % 2 === 1)
          node = await this.#revoke(owner, claimed.did, node)
      }
      await sleep(this.#pauseMs)
    }
  }

  async #claim(
    owner: OwnerHeaders,
    token: string,
    from: number,
  ): Promise<{ did: string | null; node: number }> {
    const body = claimBody(token, newKey())
    const { told, reply, node } = await this.#insist('claim', from, 200, (url) =>
      ask('POST', `${url}/api/v1/claim`, {}, body),
    )
    const did = told === 'done' ? (reply?.body.svcDid as string) : null
    this.claims.push({ owner, publicKey: body.publicKey, told, did })
    if (did !== null) await this.#mustShow(node, did, ['active', '503', 'no answer'])
    return { did, node }
  }

  async #revoke(owner: OwnerHeaders, did: string, from: number): Promise<number> {
    const { told, node } = await this.#insist('revocation', from, 200, (url) =>
      ask('POST', `${url}/api/account/agents/${did}/revoke`, owner, {}),
    )
    const revocation = { did, told, at: performance.now() }
    this.revocations.push(revocation)
    if (told !== 'done') return node
    this.onRevoked(revocation, this.#urlOf(node))
    await this.#mustShow(node, did, ['revoked', '503', 'no answer'])
    return node
  }

  /** Whoever has answered that something is done shows it from then on, or nothing. */
  async #mustShow(node: number, did: string, answers: readonly string[]): Promise<void> {
    const says = await saysOf(this.#urlOf(node), did)
    if (!answers.includes(says))
      this.contradictions.push(`after its own acknowledgement a node says of ${did}: ${says}`)
  }

  /** Asks one node after the other until one says that it is done, or that it had been done before. */
  async #insist(
    what: string,
    from: number,
    success: number,
    send: (url: string) => Promise<Reply | null>,
  ): Promise<Outcome> {
    let mayBeDone = false
    for (let node = from; ; node++) {
      const began = performance.now()
      const reply = await send(this.#urlOf(node))
      const at = performance.now()
      this.longestAnswer = Math.max(this.longestAnswer, at - began)
      if (reply?.status === success) {
        this.acknowledged[what] ??= []
        this.acknowledged[what].push({ began, at })
        return { told: 'done', reply, node }
      }
      this.#count(what, reply)
      if (reply !== null && reply.status !== 503) {
        if (isDoneBefore(reply) && mayBeDone) return { told: 'done before', reply, node }
        this.contradictions.push(`${what}: ${textOf(reply)}, after answers that say it is not done`)
        return { told: 'not known', reply, node }
      }
      mayBeDone ||= !saysNotDone(reply)
      if (this.#stopping) return { told: mayBeDone ? 'not known' : 'not done', reply, node }
      await sleep(AGAIN_AFTER_MS)
    }
  }

  #urlOf(node: number): string {
    return (this.#nodes[node % this.#nodes.length] as { url: string }).url
  }

  #count(what: string, reply: Reply | null): void {
    const text = `${what}: ${textOf(reply)}`
    this.failures.set(text, (this.failures.get(text) ?? 0) + 1)
  }
}

/** A token that was used; an agent that is revoked. */
function isDoneBefore({ status, body }: Reply): boolean {
  const message = messageOf(body)
  return (status === 410 && /used/.test(message)) || (status === 400 && /is revoked/.test(message))
}

/** Both are 503 UNAVAILABLE: only the sentence says whether it may have been done all the same. */
function saysNotDone(reply: Reply | null): boolean {
  return reply !== null && /Nothing was changed/.test(messageOf(reply.body))
}

function textOf(reply: Reply | null): string {
  return reply === null ? 'no answer' : `${reply.status} ${messageOf(reply.body)}`
}

function messageOf(body: Record<string, unknown>): string {
  return (body.error as { message?: string } | undefined)?.message ?? ''
}
