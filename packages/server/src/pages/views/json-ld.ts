import type { Certificate } from '../certificate.ts'
import type { PageContext } from './context.ts'

/** A certificate in the vocabulary of schema.org (Certification). */
export function certificateJsonLd(
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
