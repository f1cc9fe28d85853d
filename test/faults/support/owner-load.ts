import { setTimeout as sleep } from 'node:timers/promises'
import { newKey } from '../../support/key.ts'
import { type Cleanup, claimBody } from '../../support/service.ts'
import { ask, type Reply, statusAt } from './ask.ts'
import type { OwnerHeaders } from './cluster.ts'

/** The delay before callers retry at the other node after a 503 or no answer. */
const AGAIN_AFTER_MS = 50

/**
 * What a caller knows about a request: it was done; it had already been done by an earlier request whose answer was
 * lost or unclear; or, at the end of the load, only that nothing was changed.
 */
export type Acknowledgement = 'done' | 'done before' | 'not done' | 'not known'

export interface ClaimMade {
  readonly owner: OwnerHeaders
  readonly publicKey: string
  readonly told: Acknowledgement
  /** If it was done. */
  readonly did: string | null
}

export interface RevocationMade {
  readonly did: string
  readonly told: Acknowledgement
  /** When the answer came, by `performance.now()`. */
  readonly at: number
}

interface Outcome {
  readonly told: Acknowledgement
  readonly reply: Reply | null
  /** The node that gave the last answer. */
  readonly node: number
}

/** Owners at two nodes. Each creates tokens, claims agents with them, and revokes every second agent. */
export class OwnerLoad {
  readonly claims: ClaimMade[] = []
  readonly revocations: RevocationMade[] = []
  /** Start times of acknowledged requests, by operation. */
  readonly acknowledged: Record<string, { readonly began: number; readonly at: number }[]> = {}
  /** Counts of other answers: `503 UNAVAILABLE: The database …`. */
  readonly failures = new Map<string, number>()
  /** Answers that contradict each other. */
  readonly contradictions: string[] = []
  /** The slowest answer, in milliseconds. */
  longestAnswer = 0
  /** Called with each acknowledged revocation and the URL of the node that confirmed it. */
  onRevoked: (revocation: RevocationMade, node: string) => void = () => undefined
  readonly #nodes: readonly { readonly url: string }[]
  readonly #pauseMs: number
  readonly #running: Promise<void>
  #stopping = false

  /**
   * @param t the test, at whose end the load stops
   * @param pauseMs each owner's pause between two agents
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

  /** Starts nothing new. Resolves when callers know the outcome of their requests or have given up. */
  async stop(): Promise<void> {
    this.#stopping = true
    await this.#running
  }

  /** When the first claim sent after the given time was acknowledged. Fails if there is none within a minute. */
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

  /** A node that has confirmed a change must show it from then on, or fail to answer. */
  async #mustShow(node: number, did: string, answers: readonly string[]): Promise<void> {
    const says = await statusAt(this.#urlOf(node), did)
    if (!answers.includes(says))
      this.contradictions.push(`after its own acknowledgement a node says of ${did}: ${says}`)
  }

  /** Alternates between the nodes until one answers that it is done, or had already been done. */
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

/** A used token, or a revoked agent. */
function isDoneBefore({ status, body }: Reply): boolean {
  const message = messageOf(body)
  return (status === 410 && /used/.test(message)) || (status === 400 && /is revoked/.test(message))
}

/** Both are 503 UNAVAILABLE. Only the message says whether the change may have been made. */
function saysNotDone(reply: Reply | null): boolean {
  return reply !== null && /Nothing was changed/.test(messageOf(reply.body))
}

function textOf(reply: Reply | null): string {
  return reply === null ? 'no answer' : `${reply.status} ${messageOf(reply.body)}`
}

function messageOf(body: Record<string, unknown>): string {
  return (body.error as { message?: string } | undefined)?.message ?? ''
}
