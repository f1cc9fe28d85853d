import type { OwnerVerification, ProviderKind } from '@countersign/protocol'

export const KIND_NAMES: Record<ProviderKind, string> = {
  eid: 'Electronic identity',
  personhood: 'Proof of personhood',
  kyc: 'Identity document',
  social: 'Account elsewhere',
  'in-person': 'In person',
  development: 'For development only',
}

/** Such as `1 year` or `90 days`. */
export function formatDays(days: number): string {
  if (days % 365 === 0) return count(days / 365, 'year')
  return count(days, 'day')
}

/** Such as `1 agent` or `3 agents`. */
function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/**
 * The effects of removing a verification as sentences, worst first.
 * @param labelOf the display name of a provider
 */
export function removalEffects(
  effect: OwnerVerification['ifRemoved'],
  labelOf: (provider: string) => string,
): string[] {
  if (effect.activeAgents === 0) {
    return ['You have no active agent whose answers would change.', tokens(effect)]
  }
  return [lookups(effect, labelOf), ...grades(effect), tokens(effect)]
}

function lookups(
  { identityLevel, activeAgents }: OwnerVerification['ifRemoved'],
  labelOf: (provider: string) => string,
): string {
  const [agents, them] =
    activeAgents === 1 ? ['your agent', 'it'] : [`your ${activeAgents} active agents`, 'them']
  return identityLevel === 'unverified'
    ? `Whoever looks up ${agents} is told that nobody with a verified identity stands behind ${them}.`
    : `Whoever looks up ${agents} is told that you are verified by ${labelOf(identityLevel)}.`
}

function grades({ grades }: OwnerVerification['ifRemoved']): string[] {
  const falling = grades.filter(({ from, to }) => from !== to)
  if (falling.length === 0) return ['No agent changes its grade.']
  return falling.map(({ from, to, agents }) => {
    const verb = to > from ? (agents === 1 ? 'falls' : 'fall') : agents === 1 ? 'rises' : 'rise'
    return `${count(agents, 'agent')} ${verb} from grade ${from} to ${to}.`
  })
}

function tokens({ canClaim }: OwnerVerification['ifRemoved']): string {
  return canClaim
    ? 'You can still make claim tokens for new agents.'
    : 'You can make no claim token for a new agent until you verify again.'
}
