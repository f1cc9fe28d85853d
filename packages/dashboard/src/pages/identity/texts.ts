import type { OwnerVerification, ProviderKind } from '@countersign/protocol'

export const KIND_NAMES: Record<ProviderKind, string> = {
  eid: 'Electronic identity',
  personhood: 'Proof of personhood',
  kyc: 'Identity document',
  social: 'Online account',
  'in-person': 'In person',
  development: 'Development only',
}

/** The provider that verifies organisations by their domain, which has a section of its own. */
export const BY_DOMAIN = 'organisation-domain'

/** Such as `30 days`, or `2 years`, after which a verification expires on the same day of the calendar. */
export function formatDays(days: number): string {
  return days % 365 === 0 ? count(days / 365, 'year') : count(days, 'day')
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
    return ['You have no active agents, so no lookup changes.', tokens(effect)]
  }
  return [lookups(effect, labelOf), ...grades(effect), tokens(effect)]
}

function lookups(
  { identityLevel, activeAgents }: OwnerVerification['ifRemoved'],
  labelOf: (provider: string) => string,
): string {
  const agents = activeAgents === 1 ? 'your agent' : `your ${activeAgents} active agents`
  return identityLevel === 'unverified'
    ? `Lookups of ${agents} answer that the owner is not verified.`
    : `Lookups of ${agents} answer that you are verified by ${labelOf(identityLevel)}.`
}

function grades({ grades }: OwnerVerification['ifRemoved']): string[] {
  const falling = grades.filter(({ from, to }) => from !== to)
  if (falling.length === 0) return ['No grade changes.']
  return falling.map(({ from, to, agents }) => {
    const verb = to > from ? (agents === 1 ? 'falls' : 'fall') : agents === 1 ? 'rises' : 'rise'
    return `${count(agents, 'agent')} ${verb} from grade ${from} to ${to}.`
  })
}

function tokens({ canClaim }: OwnerVerification['ifRemoved']): string {
  return canClaim
    ? 'You can still create claim tokens.'
    : 'You cannot create claim tokens until you verify again.'
}
