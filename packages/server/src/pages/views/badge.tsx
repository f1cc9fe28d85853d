import type { AgentStatus } from '@countersign/protocol'
import { formatDay, SEAL_EDGE, STATUS_WORDS } from '@countersign/ui'
import type { ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import type { Certificate } from '../certificate.ts'
import type { PageContext } from './page-context.ts'
import { clipped, textWidth, xmlText } from './svg-text.ts'

type BadgeStyle = 'flat' | 'seal'

/** Fixed colours for light and dark pages; white text on each has a contrast of at least 4.5. */
const COLOURS: Readonly<Record<AgentStatus, string>> = {
  active: '#0f6b3a',
  suspended: '#8a5200',
  revoked: '#a8201a',
}

const NOBODY = '#55594f'

const FONT = 'Inter, Verdana, DejaVu Sans, Helvetica, Arial, sans-serif'

/** A self-contained SVG badge for other sites. */
export function badgeSvg(
  context: PageContext,
  certificate: Certificate,
  style: BadgeStyle,
): string {
  const Badge = style === 'flat' ? FlatBadge : SealBadge
  return renderToStaticMarkup(<Badge context={context} certificate={certificate} />)
}

/**
 * The badge of a username that no agent has, also one that was given up: a site that embeds it shows no broken image, and no
 * certificate either.
 */
export function freeNameBadgeSvg(
  context: PageContext,
  givenUpOn: string | null,
  style: BadgeStyle,
): string {
  const standing =
    givenUpOn === null ? 'no agent has this name' : `name given up on ${formatDay(givenUpOn)}`
  const Badge = style === 'flat' ? Flat : Empty
  return renderToStaticMarkup(<Badge context={context} standing={standing} colour={NOBODY} />)
}

interface BadgeProps {
  readonly context: PageContext
  readonly certificate: Certificate
}

/** `active · A`. Without the grade if the agent is not active or its owner was verified for development only. */
function badgeLabel({ agent, grade }: Certificate): string {
  const word = STATUS_WORDS[agent.status].toLowerCase()
  if (agent.status !== 'active') return word
  return agent.developmentOnly ? 'development only' : `${word} · ${grade.grade}`
}

/** Certificates for development never look like active ones. */
function colourOf({ agent }: Certificate): string {
  return agent.status === 'active' && agent.developmentOnly
    ? COLOURS.suspended
    : COLOURS[agent.status]
}

function FlatBadge({ context, certificate }: BadgeProps) {
  return (
    <Flat context={context} standing={badgeLabel(certificate)} colour={colourOf(certificate)} />
  )
}

interface PlainBadgeProps {
  readonly context: PageContext
  readonly standing: string
  readonly colour: string
}

function Flat({ context, standing, colour }: PlainBadgeProps) {
  const label = clipped(xmlText(context.serviceName), 32)
  const left = textWidth(label, 11) + 16
  const right = textWidth(standing, 11) + 16
  const width = left + right
  return (
    <Picture width={width} height={20} title={`${label}: ${standing}`}>
      <rect width={width} height="20" rx="4" fill="#3a403a" />
      <path d={`M${left} 0h${right - 4}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H${left}z`} fill={colour} />
      <g fill="#fff" fontFamily={FONT} fontSize="11">
        <text x="8" y="14" textLength={left - 16}>
          {label}
        </text>
        <text x={left + 8} y="14" textLength={right - 16} fontWeight="600">
          {standing}
        </text>
      </g>
    </Picture>
  )
}

function SealBadge({ context, certificate }: BadgeProps) {
  const { agent, grade } = certificate
  const name = clipped(xmlText(agent.displayName), 28)
  const word =
    agent.status === 'active' && agent.developmentOnly
      ? 'Development only'
      : STATUS_WORDS[agent.status]
  const standing = `${word} · ${clipped(xmlText(context.serviceName), 24)}`
  const text = Math.max(textWidth(name, 15), textWidth(standing, 12))
  const width = 64 + text + 18
  const colour = colourOf(certificate)
  return (
    <Picture width={width} height={56} title={`${name}: ${standing}`}>
      <Frame width={width} colour={colour} />
      <g transform="translate(32 28) scale(.44)" fill="none" stroke={colour}>
        <path d={SEAL_EDGE} strokeWidth="4" />
        <circle r="37" strokeWidth="1.5" />
        {agent.status === 'revoked' && <path d="M-46 34 46-34" strokeWidth="9" />}
        <text
          y={agent.developmentOnly ? 9 : 16}
          textAnchor="middle"
          fontFamily={FONT}
          fontSize={agent.developmentOnly ? 25 : 45}
          fontWeight="700"
          fill={colour}
          stroke={agent.status === 'revoked' ? '#fff' : 'none'}
          strokeWidth="14"
          paintOrder="stroke"
        >
          {agent.developmentOnly ? 'DEV' : grade.grade}
        </text>
      </g>
      <g fontFamily={FONT}>
        <text
          x="64"
          y="25"
          fontSize="15"
          fontWeight="600"
          fill="#1b1f19"
          textLength={textWidth(name, 15)}
          textDecoration={agent.status === 'revoked' ? 'line-through' : 'none'}
        >
          {name}
        </text>
        <text
          x="64"
          y="43"
          fontSize="12"
          fontWeight="600"
          fill={colour}
          textLength={textWidth(standing, 12)}
        >
          {standing}
        </text>
      </g>
    </Picture>
  )
}

/** The seal style without a certificate: no seal. */
function Empty({ context, standing, colour }: PlainBadgeProps) {
  const label = clipped(xmlText(context.serviceName), 24)
  const width = Math.max(textWidth(label, 15), textWidth(standing, 12)) + 36
  return (
    <Picture width={width} height={56} title={`${label}: ${standing}`}>
      <Frame width={width} colour={colour} dashes="5 4" />
      <g fontFamily={FONT} fontWeight="600" fill={colour}>
        <text x="18" y="25" fontSize="15" textLength={textWidth(label, 15)}>
          {label}
        </text>
        <text x="18" y="43" fontSize="12" textLength={textWidth(standing, 12)}>
          {standing}
        </text>
      </g>
    </Picture>
  )
}

interface FrameProps {
  readonly width: number
  readonly colour: string
  readonly dashes?: string
}

/** The border of the seal style. */
function Frame({ width, colour, dashes }: FrameProps) {
  return (
    <rect
      x=".75"
      y=".75"
      width={width - 1.5}
      height="54.5"
      rx="9"
      fill="#fff"
      stroke={colour}
      strokeWidth="1.5"
      strokeDasharray={dashes}
    />
  )
}

interface PictureProps {
  readonly width: number
  readonly height: number
  readonly title: string
  readonly children: ReactNode
}

function Picture({ width, height, title, children }: PictureProps) {
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={title}
    >
      <title>{title}</title>
      {children}
    </svg>
  )
}
