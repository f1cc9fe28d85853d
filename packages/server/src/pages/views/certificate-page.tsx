import type { AgentStatus } from '@countersign/protocol'
import { formatDay, StatusIcon } from '@countersign/ui'
import type { Certificate } from '../certificate.ts'
import { ChannelsClause, GradeClause, OwnerClause } from './certificate-evidence.tsx'
import { CertificateFace } from './certificate-face.tsx'
import { DatesClause, KeyClause } from './certificate-key.tsx'
import { LogClause } from './certificate-log.tsx'
import { CheckClause, ShareClause, SmallPrint } from './certificate-proof.tsx'
import { SignedClause } from './certificate-signed.tsx'
import type { PageContext } from './context.ts'
import { pathOf } from './context.ts'
import { htmlOf } from './html.tsx'
import { Sheet } from './sheet.tsx'
import { Shell } from './shell.tsx'

/** The public certificate of an agent. */
export function certificatePage(context: PageContext, certificate: Certificate): string {
  const { agent } = certificate
  const { status, links } = agent
  const path = pathOf(agent.certificateUrl)
  const parts = { context, certificate }
  return htmlOf(
    <Shell
      context={context}
      title={titleOf(context, certificate)}
      description={descriptionOf(context, certificate)}
      path={path}
      image={{ path: `${path}/preview.png`, alt: titleOf(context, certificate) }}
      alternates={[
        { type: 'application/json', href: links.self },
        { type: 'application/did+json', href: links.didDocument },
      ]}
      jsonLd={certificateJsonLd(context, certificate)}
      status={status}
      banner={status === 'active' ? null : <Banner status={status} />}
    >
      <Sheet status={status}>
        <CertificateFace {...parts} />
        <OwnerClause certificate={certificate} />
        <GradeClause certificate={certificate} />
        <ChannelsClause certificate={certificate} />
        <KeyClause {...parts} />
        <DatesClause certificate={certificate} />
        <CheckClause {...parts} />
        <SignedClause {...parts} />
        <LogClause {...parts} />
        <ShareClause {...parts} />
        <SmallPrint {...parts} />
      </Sheet>
    </Shell>,
  )
}

function titleOf({ serviceName }: PageContext, { agent, grade }: Certificate): string {
  if (agent.status === 'revoked') return `REVOKED: ${agent.displayName} · ${serviceName}`
  if (agent.status === 'suspended') return `SUSPENDED: ${agent.displayName} · ${serviceName}`
  const development = agent.developmentOnly ? ' (development only)' : ''
  return `${agent.displayName}: active certificate, grade ${grade.grade}${development} · ${serviceName}`
}

/** Two sentences for search results and social networks. */
function descriptionOf({ serviceName }: PageContext, { agent, verification }: Certificate): string {
  const { status, owner } = agent
  if (status !== 'active') {
    return `The ${serviceName} certificate of ${agent.displayName} is ${status} since ${formatDay(agent.statusChangedAt)}. Do not rely on it.`
  }
  const identity =
    verification === null
      ? 'Their identity is not verified.'
      : `Identity verified by ${verification.label}.`
  const development = agent.developmentOnly ? ' Development only: do not rely on it.' : ''
  const name = agent.ownerName?.verified
    ? `${agent.ownerName.verified.name} (verified name)`
    : `${owner?.displayName ?? 'none'} (self-declared name)`
  return `${agent.displayName} holds an active ${serviceName} certificate. Owner: ${name}. ${identity}${development}`
}

const BANNERS: Readonly<Record<Exclude<AgentStatus, 'active'>, { tone: string; text: string }>> = {
  suspended: {
    tone: 'bg-warn text-warn-wash',
    text: 'Suspended: do not rely on this certificate for now.',
  },
  revoked: { tone: 'bg-bad text-on-bad', text: 'Revoked: do not trust this agent.' },
}

function Banner({ status }: { readonly status: keyof typeof BANNERS }) {
  const { tone, text } = BANNERS[status]
  return (
    <p
      role="alert"
      className={`flex items-center justify-center gap-3 px-4 py-3 text-center text-lg/6 font-semibold ${tone}`}
    >
      <StatusIcon status={status} className="size-6 shrink-0" />
      {text}
    </p>
  )
}

/** JSON-LD of a certificate (schema.org Certification). */
function certificateJsonLd(
  { serviceName, site }: PageContext,
  { agent, grade }: Certificate,
): object {
  const did = agent[site.naming.didField]
  return {
    '@context': 'https://schema.org',
    '@type': 'Certification',
    '@id': agent.certificateUrl,
    url: agent.certificateUrl,
    name: `Certificate of ${agent.displayName}`,
    certificationIdentification: did,
    certificationStatus: `https://schema.org/${agent.status === 'active' ? 'CertificationActive' : 'CertificationInactive'}`,
    validFrom: agent.claimedAt,
    ...(agent.status === 'revoked' && { expires: agent.statusChangedAt }),
    issuedBy: { '@type': 'Organization', name: serviceName, url: site.baseUrl },
    certificationRating: {
      '@type': 'Rating',
      ratingValue: grade.grade,
      bestRating: 'A',
      worstRating: 'E',
    },
    about: {
      '@type': 'SoftwareApplication',
      name: agent.displayName,
      description: agent.description,
      image: agent.avatarUrl,
      identifier: [did, agent.didWeb],
      ...(agent.owner !== null && {
        maintainer: {
          '@type': 'Thing',
          name: agent.owner.displayName,
          identifier: agent.owner.username,
        },
      }),
    },
  }
}
