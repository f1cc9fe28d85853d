import { formatDay } from '@countersign/ui'
import type { Certificate } from '../certificate.ts'
import { DevelopersFold } from './certificate-developers.tsx'
import { ChannelsClause, GradeClause, OwnerClause } from './certificate-evidence.tsx'
import { CertificateFace } from './certificate-face.tsx'
import { ShareClause, SmallPrint } from './certificate-proof.tsx'
import { htmlOf } from './html.tsx'
import { type PageContext, pathOf } from './page-context.ts'
import { quotable } from './quoted.tsx'
import { Sheet } from './sheet.tsx'
import { Shell } from './shell.tsx'

/** The public certificate of an agent. */
export function certificatePage(context: PageContext, certificate: Certificate): string {
  const { agent } = certificate
  const { status, links } = agent
  const path = pathOf(agent.certificateUrl)
  const parts = { context, certificate }
  // A test looks neither active nor like anything that was checked.
  const look = status === 'active' && agent.developmentOnly ? 'suspended' : status
  const isOwner = agent.owner !== null && agent.owner.username === context.visitor
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
      status={look}
    >
      <Sheet status={look}>
        <CertificateFace {...parts} />
        <OwnerClause certificate={certificate} />
        <GradeClause certificate={certificate} />
        <ChannelsClause certificate={certificate} />
        <SmallPrint {...parts} />
        <DevelopersFold {...parts} />
        {isOwner && <ShareClause {...parts} />}
      </Sheet>
    </Shell>,
  )
}

function titleOf({ serviceName }: PageContext, certificate: Certificate): string {
  const { agent, grade } = certificate
  const { status, developmentOnly, displayName } = agent
  const named = `gent named “${quotable(displayName)}”`
  if (status !== 'active') return `${status.toUpperCase()}: a${named} · ${serviceName}`
  if (developmentOnly) return `DEVELOPMENT ONLY: a${named} · ${serviceName}`
  return `A${named}, ${ownerOf(certificate)}: active certificate, grade ${grade.grade} · ${serviceName}`
}

/** Who the owner is, as far as the service knows. */
function ownerOf({ verification, verifiedName }: Certificate): string {
  if (verifiedName !== null) return `owner verified as ${verifiedName.name}`
  return verification === null ? 'owner not verified' : `owner verified by ${verification.label}`
}

/** Two sentences for search results and social networks. */
function descriptionOf({ serviceName }: PageContext, certificate: Certificate): string {
  const { agent, verification, verifiedName } = certificate
  const { status, owner, developmentOnly } = agent
  const name = `“${quotable(agent.displayName)}”`
  if (status !== 'active') {
    return `The ${serviceName} certificate of the agent named ${name} is ${status} since ${formatDay(agent.statusChangedAt)}. Do not rely on it.`
  }
  if (developmentOnly) {
    return `Development only: nobody checked who owns the agent named ${name}. Do not rely on it.`
  }
  const identity =
    verification === null
      ? 'Their identity is not verified.'
      : `Identity verified by ${verification.label}.`
  const ownerName =
    verifiedName === null
      ? `“${quotable(owner?.displayName ?? 'none')}” (self-declared name)`
      : `${verifiedName.name} (verified name)`
  const kind = agent.ownerKind === 'organisation' ? 'Organisation' : 'Owner'
  return `The agent named ${name} holds an active ${serviceName} certificate. ${kind}: ${ownerName}. ${identity}`
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
    name: `Certificate of the agent named “${quotable(agent.displayName)}”`,
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
          '@type': agent.ownerKind === 'organisation' ? 'Organization' : 'Thing',
          name: agent.owner.displayName,
          identifier: agent.owner.username,
        },
      }),
    },
  }
}
