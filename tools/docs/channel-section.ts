import { type Did, namingFor, type ProofMethodInWords } from '@countersign/protocol'
import type { ChannelKind, Proof } from '../../packages/server/src/channels/kinds/kind.ts'
import { withPart } from './marked-part.ts'

const DAY_MS = 24 * 3_600_000

/** An example proof. The key is the one of RFC 8032 section 7.1, test 2. */
const EXAMPLE: Omit<Proof, 'handle'> = {
  naming: namingFor(),
  did: 'svc:agent:7Xk2mPqR9sTvWyZaBcDeFgHj' as Did,
  publicKey: Buffer.from('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c', 'hex'),
  baseUrl: 'https://id.example',
  token: '4kXw9TbQe7RzMn3VhYcJ2p',
  expiresAt: Date.parse('2027-01-08T12:00:00Z'),
}

/**
 * Replaces the generated part of the page.
 * @throws Error if the page has no such part
 */
export function withKinds(page: string, kinds: readonly ChannelKind[]): string {
  return withPart(page, 'kinds', kinds.map(describe).join('\n\n'))
}

function describe(kind: ChannelKind): string {
  const { id, label, tier, proves, field, freshForMs } = kind
  const proof = { ...EXAMPLE, handle: kind.parse(field.placeholder) }
  const days = freshForMs / DAY_MS
  return [
    `### ${label} (\`${id}\`, tier ${tier})`,
    `${proves} The owner enters: *${field.label}*, such as \`${field.placeholder}\`. ${field.hint}`,
    `A proof is valid for ${days} days. ${checkText(kind)}`,
    ...kind.methods(proof).map(methodText),
  ].join('\n\n')
}

function checkText({ check }: ChannelKind): string {
  if (check === null) return 'There is no daily check: the agent proves it itself.'
  return check.agreement === 'most'
    ? 'Checked daily through three DNS resolvers, or as many as the operator sets. More than half must find it.'
    : 'Checked daily. The first DNS resolver through which there is an answer decides.'
}

function methodText({ title, step, fields }: ProofMethodInWords): string {
  const gap = fields.some(({ multiline }) => multiline) ? '\n\n' : '\n'
  return `**${title}.** ${step}\n\n${fields.map(fieldText).join(gap)}`
}

function fieldText({ label, value, multiline }: ProofMethodInWords['fields'][number]): string {
  return multiline ? `${label}:\n\n\`\`\`text\n${value}\n\`\`\`` : `- ${label}: \`${value}\``
}
