import type { AgentStatus } from '@countersign/protocol'
import { STATUS_WORDS } from '@countersign/ui'
import type { ReactElement } from 'react'
import { drawable } from './drawable.ts'
import { PreviewSeal, SEAL_LAYER } from './preview-seal.tsx'
import { nameStyle, STYLES } from './preview-styles.ts'
import { quotable } from './quoted.tsx'
import { clipped } from './svg-text.ts'

/** The data of a preview image. Equal data gives an equal image, so it is also the cache key. */
export interface PreviewData {
  readonly serviceName: string
  readonly host: string
  readonly did: string
  readonly displayName: string
  readonly username: string | null
  readonly status: AgentStatus
  readonly grade: string
  /** The owner's self-declared name. */
  readonly owner: string | null
  /** The name that a provider verified, if the owner publishes it. */
  readonly verifiedName: string | null
  readonly identity: string | null
  readonly developmentOnly: boolean
}

const INKS: Readonly<Record<AgentStatus, string>> = {
  active: '#0b5d4b',
  suspended: '#8a5200',
  revoked: '#a8201a',
}

const GROUNDS: Readonly<Record<AgentStatus, string>> = {
  active: '#f6f5f1',
  suspended: '#fcefd9',
  revoked: INKS.revoked,
}

/** The preview image of a certificate. If the fonts lack letters of a name, it shows the username or the DID instead. */
export function previewCard(data: PreviewData): ReactElement {
  const { status, developmentOnly } = data
  // A test looks neither active nor like anything that was checked.
  const look = status === 'active' && developmentOnly ? 'suspended' : status
  const ink = INKS[look]
  const name = drawable(data.displayName) ?? plainName(data)
  return (
    <div style={{ ...STYLES.ground, backgroundColor: GROUNDS[look] }}>
      <div style={{ ...STYLES.frame, border: `3px solid ${ink}` }}>
        <div style={{ ...STYLES.inside, border: `1px solid ${ink}` }}>
          <div style={STYLES.sheet}>
            <div style={STYLES.heading}>
              <span>{clipped(drawable(data.serviceName) ?? data.host, 40)}</span>
              {developmentOnly ? (
                <span style={STYLES.development}>Development only</span>
              ) : (
                <span>Certificate of a software agent</span>
              )}
            </div>
            <div style={STYLES.middle}>
              <div style={STYLES.names}>
                <span style={nameStyle(name, status === 'revoked')}>{clipped(name, 60)}</span>
                <span style={{ ...STYLES.standing, backgroundColor: ink }}>{standingOf(data)}</span>
              </div>
              <Seal data={data} ink={ink} />
            </div>
            <div style={STYLES.foot}>
              <span>{ownerLine(data)}</span>
              <span style={STYLES.soft}>{identityLine(data)}</span>
            </div>
          </div>
        </div>
      </div>
    </div>
  )
}

function standingOf({ status, developmentOnly }: PreviewData): string {
  if (status === 'revoked') return 'REVOKED'
  return status === 'active' && developmentOnly ? 'Test' : STATUS_WORDS[status]
}

function plainName({ username, did }: PreviewData): string {
  return username === null ? `Agent ${did.slice(-24, -18)}` : `@${username}`
}

function ownerLine({ owner, verifiedName, developmentOnly }: PreviewData): string {
  if (owner === null) return 'The owner has deleted their account'
  if (developmentOnly) return 'This is a test. Nobody checked who owns this agent.'
  const verified = verifiedName === null ? null : drawable(verifiedName)
  if (verified !== null) return `Run by ${clipped(verified, 40)} (verified name)`
  const declared = drawable(owner)
  return declared === null
    ? 'The owner’s name is not verified'
    : `Owner: “${clipped(quotable(declared), 40)}” (self-declared name)`
}

function identityLine({ status, identity, developmentOnly }: PreviewData): string {
  if (status !== 'active' || developmentOnly) return 'Do not rely on this certificate'
  if (identity === null) return 'Nobody has verified the owner’s identity'
  return `Identity verified: ${clipped(drawable(identity) ?? 'yes', 48)}`
}

function Seal({ data, ink }: { readonly data: PreviewData; readonly ink: string }) {
  return (
    <div style={STYLES.seal}>
      <PreviewSeal seed={data.did} ink={ink} />
      {data.status === 'revoked' && (
        <svg aria-hidden="true" {...SEAL_LAYER} strokeLinecap="round">
          <path d="M-42 30 42-30" stroke="#fff" strokeWidth="10" />
          <path d="M-44 31.4 44-31.4" stroke={ink} strokeWidth="5" />
          <circle r="25" fill="#fff" stroke={ink} strokeWidth="1" />
        </svg>
      )}
      <div style={{ ...STYLES.letter, ...(data.developmentOnly && STYLES.dev), color: ink }}>
        {data.developmentOnly ? 'DEV' : data.grade}
      </div>
    </div>
  )
}
