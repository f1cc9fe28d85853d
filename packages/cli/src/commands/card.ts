import type { Card } from '@countersign/protocol'
import type { Command } from 'commander'
import { STATUS_WORDS } from '../certificate.ts'
import { didIn } from '../deployment.ts'
import { fetchCard } from '../endpoints.ts'
import { type Field, fields, heading, print, printable } from '../output.ts'
import { ownKey } from '../own-key.ts'
import { parseReference } from '../reference.ts'
import { serviceOf, takesKey, takesService } from '../settings.ts'

/** `countersign card [did]` (contract 4.5). */
export function cardCommand(program: Command): void {
  takesKey(takesService(program.command('card')))
    .description('show the card of an agent: yours where you name none')
    .argument('[agent]', 'a DID, its last 24 characters, or a public key in base64')
    .action(showCard)
}

async function showCard(
  agent: string | undefined,
  _options: unknown,
  command: Command,
): Promise<void> {
  const reference = parseReference(agent ?? ownKey(command).publicKey)
  const card = await fetchCard(serviceOf(command), reference)
  print(command, card, layOut(card))
}

function layOut(card: Card): string {
  const about = card.description === '' ? [] : [printable(card.description)]
  return [heading(card.displayName), ...about, '', fields(describe(card))].join('\n')
}

function describe(card: Card): Field[] {
  const { owner, verification, channels } = card
  return [
    ['DID', didIn(card)],
    ...(card.username === null ? [] : [['Username', card.username] as const]),
    ['Status', STATUS_WORDS[card.status]],
    ['Grade', `${card.grade} (A is best, E is least)`],
    ['Owner', owner === null ? 'no profile' : `${owner.displayName} (${owner.username})`],
    [
      'Identity',
      verification === null
        ? 'not verified'
        : `verified by ${verification.label}, ${verification.verifiedAt}`,
    ],
    ['Reached at', channels.length === 0 ? 'no verified channel' : channels.map(describeChannel)],
    ...(card.tier === null ? [] : [['Tier', describeTier(card)] as const]),
    ['Claimed', card.claimedAt],
    ['Picture', card.avatarUrl],
    ['Certificate', card.certificateUrl],
  ]
}

function describeChannel({ kind, handleOrDomain }: Card['channels'][number]): string {
  return `${handleOrDomain} (${kind})`
}

function describeTier({ tier, gradeIsFallback }: Card): string {
  const means = gradeIsFallback ? 'a chat or runtime only' : 'a domain or an agent-to-agent channel'
  return `${tier}: ${means}`
}
