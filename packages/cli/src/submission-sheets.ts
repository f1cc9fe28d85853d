import type { Card } from '@countersign/sdk'
import type { ClientMetadata } from './client-metadata.ts'

/** What a submission to a bot registry is made of. */
interface Submission {
  readonly card: Card
  readonly metadata: ClientMetadata
  readonly contact?: string | undefined
  readonly userAgent?: string | undefined
  /** The origin at which the agent publishes its key itself. */
  readonly signatureAgent?: string | undefined
}

/** One field of a form. */
export interface SheetField {
  readonly label: string
  /** Null: it has to be filled in. */
  readonly value: string | null
  /** What to fill in. */
  readonly hint?: string
}

/** What a bot registry asks for. */
export interface Sheet {
  readonly title: string
  /** Where to submit it. */
  readonly submitAt: string
  /** What the registry requires. */
  readonly requirements: string
  readonly fields: readonly SheetField[]
}

const KEY_DIRECTORY_PATH = '/.well-known/http-message-signatures-directory'

/** The registries that review submissions. */
export const SHEETS = { aws: awsSheet, cloudflare: cloudflareSheet } as const

/** The Web bot record type of AWS Agent Registry, from which AWS WAF takes verified agents. */
function awsSheet(submission: Submission): Sheet {
  return {
    title: 'AWS Agent Registry: Web bot record',
    submitAt: 'https://console.aws.amazon.com/agent-registry/home',
    requirements:
      'https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/registry-web-bot.html',
    fields: [
      { label: 'Record type', value: 'WEB_BOT' },
      { label: 'Descriptor', value: 'signatureAgentCard' },
      ...descriptionOf(submission),
      { label: 'Signature agent card', value: submission.metadata.clientId },
      { label: 'JWKS URL', value: submission.metadata.keySet },
      { label: 'Category', value: null, hint: 'one of the categories that AWS lists' },
      { label: 'Publisher', value: null, hint: 'your organization, as AWS has verified it' },
      ...operatorOf(submission),
    ],
  }
}

/** Cloudflare's bot submission form, for agents that sign their requests. */
function cloudflareSheet(submission: Submission): Sheet {
  const { signatureAgent } = submission
  return {
    title: 'Cloudflare: Bot Submission Form, for an agent that signs its requests',
    submitAt: 'https://dash.cloudflare.com, Manage Account > Configurations > Bot Submission Form',
    requirements: 'https://developers.cloudflare.com/bots/concepts/bot/signed-agents/policy/',
    fields: [
      ...descriptionOf(submission),
      { label: 'Verification method', value: 'Request Signature (Web Bot Auth)' },
      {
        label: 'Key directory',
        value: signatureAgent === undefined ? null : signatureAgent + KEY_DIRECTORY_PATH,
        hint: `Cloudflare reads ${KEY_DIRECTORY_PATH} at an origin of your own; publish your key there and give it with --signature-agent`,
      },
      { label: 'Signature agent card', value: submission.metadata.clientId },
      { label: 'Key set', value: submission.metadata.keySet },
      {
        label: 'User agent',
        value: submission.userAgent ?? null,
        hint: 'optional; at least 5 characters, no special characters (--user-agent)',
      },
      ...operatorOf(submission),
    ],
  }
}

function descriptionOf({ card }: Submission): SheetField[] {
  return [
    { label: 'Name', value: card.displayName },
    {
      label: 'Description',
      value: card.description || null,
      hint: 'what the agent does, and for whom',
    },
    { label: 'Public page', value: card.certificateUrl },
  ]
}

function operatorOf({ card: { owner, ownerName }, contact }: Submission): SheetField[] {
  const declared = owner === null ? null : `${owner.displayName} (self-declared name)`
  const name = ownerName?.verified?.name ?? declared
  return [
    { label: 'Operator', value: name, hint: 'the person or organization that runs the agent' },
    { label: 'Contact', value: contact ?? null, hint: 'an address that people read (--contact)' },
  ]
}
