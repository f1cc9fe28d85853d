/**
 * A small model of the keys of agents: what docs/key-recovery.md says, without a database. Keys and agents are numbers.
 * Operations return `ok` or the code of the error, in which case nothing has changed.
 */

const HOUR = 3_600_000
const WINDOW = 72 * HOUR
export const TOKEN_LIFETIME = HOUR / 6
export const DELAY = 72 * HOUR
const RENOUNCE_DELAY = 72 * HOUR
const COMPROMISED = 'key_compromised'
const RENOUNCED = 'renounced_by_agent'

interface ModelKey {
  readonly key: number
  state: 'current' | 'retired' | 'renounced' | 'compromised'
  readonly by: 'claim' | 'rotation' | 'recovery' | 'contest'
  /** When it was replaced or burned. */
  until: number
}

interface ModelRecovery {
  readonly reason: 'key_lost' | 'key_compromised'
  expires: number
  used: boolean
  key: number | null
  effectiveAt: number
}

export interface ModelAgent {
  readonly owner: number
  readonly label: string
  status: 'active' | 'suspended' | 'revoked'
  by: 'owner' | 'operator' | 'agent' | 'service'
  reason: string | null
  keys: ModelKey[]
  recovery: ModelRecovery | null
  /** When it is revoked, because its current key has renounced it. */
  finalAt: number | null
}

export type Operation =
  | { readonly op: 'rotate' | 'redeem'; readonly agent: number; readonly key: number }
  | {
      readonly op: 'contest'
      readonly agent: number
      readonly sequence: number
      readonly reason: 'key_compromised' | 'mistake'
    }
  | {
      readonly op: 'start'
      readonly agent: number
      readonly reason: 'key_lost' | 'key_compromised'
    }
  | {
      readonly op:
        | ('reissue' | 'veto' | 'cancel' | 'renounce' | 'finish' | 'complete')
        | ('suspend' | 'reactivate' | 'operator-suspend' | 'operator-reactivate')
      readonly agent: number
    }
  | { readonly op: 'revoke'; readonly agent: number; readonly reason: string | null }
  | {
      readonly op: 'report'
      readonly agent: number
      readonly sequence: number
      readonly by: 'key' | 'owner' | 'operator'
    }
  | { readonly op: 'claim'; readonly owner: number; readonly key: number; readonly label: string }
  | { readonly op: 'wait'; readonly hours: number }

interface State {
  agents: ModelAgent[]
  burned: number[]
  suspended: number[]
}

export class KeyModel {
  now: number
  state: State = { agents: [], burned: [], suspended: [] }

  constructor(now: number) {
    this.now = now
  }

  add(owner: number, label: string, key: number): void {
    const keys: ModelKey[] = [{ key, state: 'current', by: 'claim', until: 0 }]
    const status = { status: 'active', by: 'owner', reason: null } as const
    this.state.agents.push({ owner, label, ...status, keys, recovery: null, finalAt: null })
  }

  /** @returns `ok`, or the code of the error */
  apply(operation: Operation): string {
    const before = structuredClone(this.state)
    const outcome = this.#apply(operation)
    if (outcome !== 'ok') this.state = before
    return outcome
  }

  #apply(each: Operation): string {
    if (each.op === 'wait') {
      this.now += each.hours * HOUR
      return 'ok'
    }
    if (each.op === 'claim') return this.#claim(each.owner, each.label, each.key)
    const agent = this.state.agents[each.agent] as ModelAgent
    switch (each.op) {
      case 'rotate':
        return this.#rotate(agent, each.key)
      case 'contest':
        return this.#contest(agent, each.sequence, each.reason)
      case 'start':
        return this.#start(agent, each.reason)
      case 'reissue':
        return this.#reissue(agent)
      case 'redeem':
        return this.#redeem(agent, each.key)
      case 'veto':
        return this.#veto(agent)
      case 'cancel':
        if (agent.recovery === null) return 'CONFLICT'
        agent.recovery = null
        return 'ok'
      case 'complete':
        return this.#complete(agent)
      case 'renounce':
        return this.#renounce(agent)
      case 'finish':
        return this.#finish(agent)
      case 'report':
        return this.#report(agent, each.sequence)
      case 'revoke':
        return this.#revoke(agent, each.reason)
      case 'suspend':
        if (agent.status !== 'active') return 'VALIDATION_ERROR'
        Object.assign(agent, { status: 'suspended', by: 'owner', reason: null })
        return 'ok'
      case 'reactivate':
        return this.#reactivate(agent, 'owner')
      case 'operator-suspend':
        return this.#operatorSuspend(agent)
      case 'operator-reactivate':
        return this.#operatorReactivate(agent)
    }
  }

  #claim(owner: number, label: string, key: number): string {
    if (this.#isTaken(null, owner, label, key)) return 'KEY_ALREADY_CLAIMED'
    this.add(owner, label, key)
    return 'ok'
  }

  #rotate(agent: ModelAgent, key: number): string {
    if (agent.finalAt !== null) return 'CONFLICT'
    if (agent.status !== 'active') return 'AGENT_NOT_ACTIVE'
    if (this.#isTaken(agent, agent.owner, agent.label, key)) return 'KEY_ALREADY_CLAIMED'
    this.#replace(agent, key, 'rotation')
    agent.recovery = null
    return 'ok'
  }

  #contest(agent: ModelAgent, sequence: number, reason: string): string {
    if (agent.status === 'revoked') return 'AGENT_NOT_ACTIVE'
    const good = agent.keys[sequence - 1]
    const later = agent.keys.slice(sequence)
    if (good === undefined || later.length === 0) return 'CONFLICT'
    if (later.some(({ by }) => by !== 'rotation')) return 'CONFLICT'
    if (this.now - good.until >= WINDOW) return 'CONFLICT'
    if (reason === 'mistake') {
      if (agent.finalAt !== null) return 'CONFLICT'
      const own = this.#isTaken(agent, agent.owner, agent.label, good.key, true)
      if (own) return 'KEY_ALREADY_CLAIMED'
      this.#replace(agent, good.key, 'contest')
      agent.recovery = null
    } else this.#burn(good.key)
    for (const { key } of later) this.#burn(key)
    return 'ok'
  }

  #start(agent: ModelAgent, reason: ModelRecovery['reason']): string {
    if (agent.status === 'revoked') return 'AGENT_NOT_ACTIVE'
    if (agent.recovery !== null) return 'CONFLICT'
    const expires = this.now + TOKEN_LIFETIME
    agent.recovery = { reason, expires, used: false, key: null, effectiveAt: 0 }
    if (reason === COMPROMISED) this.#burn(current(agent).key)
    return 'ok'
  }

  #reissue(agent: ModelAgent): string {
    if (agent.status === 'revoked') return 'AGENT_NOT_ACTIVE'
    if (agent.recovery === null) return 'CONFLICT'
    Object.assign(agent.recovery, { used: false, expires: this.now + TOKEN_LIFETIME })
    return 'ok'
  }

  #redeem(agent: ModelAgent, key: number): string {
    const { recovery } = agent
    if (recovery === null) return 'NOT_FOUND'
    if (recovery.used && recovery.key === key) return 'ok'
    if (recovery.used || recovery.expires <= this.now) return 'TOKEN_EXPIRED'
    if (this.#isTaken(agent, agent.owner, agent.label, key)) return 'KEY_ALREADY_CLAIMED'
    Object.assign(recovery, { used: true, key, effectiveAt: this.now + DELAY })
    return 'ok'
  }

  #veto(agent: ModelAgent): string {
    if (this.state.burned.includes(current(agent).key)) return 'FORBIDDEN'
    if (agent.finalAt !== null) return 'CONFLICT'
    if (agent.recovery === null) return 'CONFLICT'
    agent.recovery = null
    return 'ok'
  }

  #complete(agent: ModelAgent): string {
    const { recovery } = agent
    if (recovery?.key == null || recovery.effectiveAt > this.now) return 'ok'
    agent.recovery = null
    if (this.#isTaken(agent, agent.owner, agent.label, recovery.key)) return 'ok'
    const isRenounced = agent.finalAt !== null
    this.#replace(agent, recovery.key, 'recovery')
    if (agent.status !== 'suspended') return 'ok'
    if (agent.by !== 'service' && !isRenounced) return 'ok'
    if (this.#isStillSuspended(agent)) Object.assign(agent, { by: 'operator', reason: null })
    else Object.assign(agent, { status: 'active', by: 'owner', reason: null })
    return 'ok'
  }

  #renounce(agent: ModelAgent): string {
    if (agent.status === 'revoked') return 'ok'
    if (this.state.burned.includes(current(agent).key)) return 'FORBIDDEN'
    if (agent.finalAt !== null) return 'ok'
    Object.assign(agent, { status: 'suspended', by: 'agent', reason: RENOUNCED })
    agent.finalAt = this.now + RENOUNCE_DELAY
    return 'ok'
  }

  /** What the job does. */
  #finish(agent: ModelAgent): string {
    if (agent.finalAt === null || agent.finalAt > this.now) return 'ok'
    if (agent.recovery?.key != null) return 'ok'
    this.#release(agent)
    this.#end(agent, 'service', RENOUNCED)
    return 'ok'
  }

  #report(agent: ModelAgent, sequence: number): string {
    const key = agent.keys[sequence - 1]
    if (key === undefined) return 'NOT_FOUND'
    this.#burn(key.key)
    return 'ok'
  }

  /** Whether the operator has suspended a key that the agent had since its last rotation. */
  #isStillSuspended({ keys }: ModelAgent): boolean {
    for (const { key, by } of keys.slice(0, -1).toReversed()) {
      if (this.state.suspended.includes(key)) return true
      if (by === 'rotation') return false
    }
    return false
  }

  /** The key that has renounced the agent is not reserved to its owner. */
  #release(agent: ModelAgent): void {
    const { key } = current(agent)
    for (const each of agent.keys) {
      if (each.key === key && each.state === 'retired') each.state = 'renounced'
    }
  }

  #revoke(agent: ModelAgent, reason: string | null): string {
    if (agent.status === 'revoked') return 'VALIDATION_ERROR'
    const { key } = current(agent)
    const siblings = this.#holders(key).filter(
      (each) => each.owner === agent.owner && each !== agent,
    )
    const revoked = reason === COMPROMISED ? [agent, ...siblings] : [agent]
    for (const each of revoked) this.#end(each, 'owner', reason)
    if (reason === COMPROMISED) {
      for (const each of revoked) this.#mark(current(each))
      this.#burn(key)
    }
    return 'ok'
  }

  #reactivate(agent: ModelAgent, by: 'owner' | 'operator'): string {
    if (agent.status !== 'suspended') return 'VALIDATION_ERROR'
    if (this.state.burned.includes(current(agent).key)) return 'FORBIDDEN'
    if (agent.finalAt !== null) return 'CONFLICT'
    if (this.#isHeld(current(agent).key)) return 'FORBIDDEN'
    if (by === 'owner' && agent.by === 'operator') return 'FORBIDDEN'
    Object.assign(agent, { status: 'active', by, reason: null })
    return 'ok'
  }

  #operatorSuspend(agent: ModelAgent): string {
    const { key } = current(agent)
    if (agent.status === 'revoked' || this.state.suspended.includes(key)) return 'VALIDATION_ERROR'
    this.state.suspended.push(key)
    for (const each of this.#holders(key)) {
      if (each.status !== 'active') continue
      Object.assign(each, { status: 'suspended', by: 'operator', reason: null })
    }
    return 'ok'
  }

  #operatorReactivate(agent: ModelAgent): string {
    if (this.#lift(current(agent).key)) return 'ok'
    const lifted = agent.keys.filter(({ key }) => this.#lift(key))
    const isHeld = agent.status === 'suspended' && agent.finalAt === null
    if (lifted.length > 0 && !isHeld) return 'ok'
    return this.#reactivate(agent, 'operator')
  }

  #lift(key: number): boolean {
    if (!this.state.suspended.includes(key)) return false
    this.state.suspended = this.state.suspended.filter((each) => each !== key)
    for (const agent of this.#holders(key)) {
      if (agent.status !== 'suspended' || agent.by !== 'operator') continue
      if (this.state.burned.includes(key)) {
        Object.assign(agent, { by: 'service', reason: COMPROMISED })
      } else Object.assign(agent, { status: 'active', reason: null })
    }
    return true
  }

  #burn(key: number): void {
    if (!this.state.burned.includes(key)) this.state.burned.push(key)
    for (const agent of this.state.agents) {
      if (agent.recovery?.key === key) agent.recovery = null
      for (const each of agent.keys.slice(0, -1)) if (each.key === key) each.state = 'compromised'
    }
    for (const agent of this.state.agents) {
      if (current(agent).key !== key) continue
      if (agent.status === 'active' || agent.finalAt !== null) {
        Object.assign(agent, { status: 'suspended', by: 'service', reason: COMPROMISED })
        agent.finalAt = null
      }
      this.#mark(current(agent))
    }
  }

  #mark(key: ModelKey): void {
    if (key.state === 'current') Object.assign(key, { state: 'compromised', until: this.now })
  }

  #end(agent: ModelAgent, by: ModelAgent['by'], reason: string | null): void {
    Object.assign(agent, { status: 'revoked', by, reason, recovery: null, finalAt: null })
  }

  #replace(agent: ModelAgent, key: number, by: ModelKey['by']): void {
    const old = current(agent)
    if (old.state === 'current') Object.assign(old, { state: 'retired', until: this.now })
    if (agent.finalAt !== null) this.#release(agent)
    agent.finalAt = null
    agent.keys.push({ key, state: 'current', by, until: 0 })
  }

  #holders(key: number): ModelAgent[] {
    return this.state.agents.filter(
      (each) => each.status !== 'revoked' && current(each).key === key,
    )
  }

  #isHeld(key: number): boolean {
    return this.state.burned.includes(key) || this.state.suspended.includes(key)
  }

  /** Whether a key cannot become the current one of an agent. @param restored whether a contest brings it back */
  #isTaken(
    self: ModelAgent | null,
    owner: number,
    label: string,
    key: number,
    restored = false,
  ): boolean {
    if (this.#isHeld(key)) return true
    for (const agent of this.state.agents) {
      const isLive = agent.status !== 'revoked'
      if (isLive && current(agent).key === key) {
        if (agent.owner !== owner || agent.label === label) return true
      }
      for (const each of agent.keys.slice(0, -1)) {
        if (each.key !== key) continue
        if (agent === self && each.state !== 'compromised' && !restored) return true
        if (each.state !== 'retired') continue
        if (agent.owner !== owner) return true
        if (agent === self) {
          if (!restored) return true
        } else if (isLive && agent.label === label && each.until > this.now - WINDOW) return true
      }
    }
    return false
  }
}

export function current(agent: ModelAgent): ModelKey {
  return agent.keys.at(-1) as ModelKey
}
