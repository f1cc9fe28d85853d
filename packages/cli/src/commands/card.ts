import { encodeBase64 } from '@countersign/protocol'
import type { Card } from '@countersign/sdk'
import {
  assertReference,
  type Field,
  fields,
  formatDay,
  formatMinute,
  printable,
  STATUS_WORDS,
} from '@countersign/sdk/tool-support'
import type { Command } from 'commander'
import { type Invocation, takesKey, takesService } from '../invocation.ts'

/** `countersign card [did]` (contract 4.5). */
export function cardCommand(program: Command, cli: Invocation): void {
  takesKey(takesService(program.command('card')))
    .description('show the card of an agent (default: your own)')
    .argument('[agent]', 'a DID, its last 24 characters, or a public key in base64')
    .action((agent?: string) => showCard(agent, cli))
}

async function showCard(agent: string | undefined, cli: Invocation): Promise<void> {
  const reference = agent ?? encodeBase64((await cli.ownKey()).publicKey)
  assertReference(reference)
  const registry = cli.registry()
  const card = await registry.card(reference)
  const about = card.description === '' ? [] : [printable(card.description)]
  const lines = [cli.heading(card.displayName), ...about, '', fields(rowsOf(card))]
  cli.print(registry.rawOf(card), lines.join('\n'))
}

function rowsOf(card: Card): Field[] {
  const { verification, channels } = card
  return [
    ['DID', card.did],
    ...(card.username === null ? [] : [['Username', card.username] as const]),
    ['Status', STATUS_WORDS[card.status]],
    ['Grade', `${card.grade} (A is best, E is lowest)`],
    ...ownerRows(card),
    [
      'Identity',
      verification === null
        ? 'not verified'
        : `verified by ${verification.label}, ${formatDay(verification.verifiedAt)}`,
    ],
    ...(card.developmentOnly === true
      ? [['Warning', 'development only: the provider accepts any name'] as const]
      : []),
    ['Reached at', channels.length === 0 ? 'no verified channel' : channels.map(describeChannel)],
    ...(card.tier === null ? [] : [['Tier', describeTier(card)] as const]),
    ['Claimed', formatMinute(card.claimedAt)],
    ['Picture', card.avatarUrl],
    ['Certificate', card.certificateUrl],
  ]
}

function ownerRows({ owner, ownerName, ownerKind }: Card): Field[] {
  if (owner === null) return [['Owner', 'no profile']]
  const { changedAt = null, verified = null } = ownerName ?? {}
  return [
    ['Owner', `${owner.displayName} (${owner.username}), self-declared name`],
    ...(ownerKind === undefined ? [] : [['Owner kind', ownerKind] as const]),
    ...(changedAt === null ? [] : [['Name changed', formatDay(changedAt)] as const]),
    ...(verified === null
      ? []
      : [
          [
            'Verified name',
            `${verified.name}, verified by ${verified.label}, ${formatDay(verified.verifiedAt)}`,
          ] as const,
        ]),
  ]
}

function describeChannel({ kind, handleOrDomain }: Card['channels'][number]): string {
  return `${handleOrDomain} (${kind})`
}

function describeTier({ tier, gradeIsFallback }: Card): string {
  const means = gradeIsFallback ? 'a chat or runtime only' : 'a domain or an agent-to-agent channel'
  return `${tier}: ${means}`
}
