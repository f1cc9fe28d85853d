import type { EndedAccess } from '@countersign/protocol'

/** Whether nothing ended and nothing is to be reviewed. */
export function isNothing(ended: EndedAccess): boolean {
  const { webhooks, grantIssuers, enrolmentRules } = ended.toReview
  const toReview = webhooks.length + grantIssuers.length + enrolmentRules.length
  return endedTexts(ended).length === 0 && toReview === 0
}

/** What ended with a membership or a role, as sentences. */
export function endedTexts(ended: EndedAccess): string[] {
  const { apiKeysEnded, tokensEnded, recoveriesEnded, transfersEnded, responsibleFor } = ended
  return [
    sentence(apiKeysEnded, '1 API key was deleted.', 'API keys were deleted.'),
    sentence(tokensEnded, '1 unused claim token is invalid.', 'unused claim tokens are invalid.'),
    sentence(recoveriesEnded, '1 key recovery was cancelled.', 'key recoveries were cancelled.'),
    sentence(transfersEnded, '1 transfer was cancelled.', 'transfers were cancelled.'),
    sentence(
      responsibleFor,
      '1 agent has no responsible person now.',
      'agents have no responsible person now.',
    ),
  ].flatMap((each) => each ?? [])
}

function sentence(count: number, one: string, many: string): string | null {
  if (count === 0) return null
  return count === 1 ? one : `${count.toLocaleString('en')} ${many}`
}

export function agentCount(count: number): string {
  return count === 1 ? '1 agent' : `${count.toLocaleString('en')} agents`
}
