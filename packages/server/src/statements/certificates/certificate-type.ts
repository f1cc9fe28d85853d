import { certificateClaimsSchema } from '@countersign/protocol'
import { Type } from 'typebox'
import type { Site } from '../../base/site.ts'
import { CERTIFICATE_TYPE_PATH } from './certificate-claims.ts'

/** Claims whose meaning is that of a standard (RFC 7519, RFC 7800, SD-JWT VC). */
const STANDARD = new Set(['iss', 'sub', 'iat', 'exp', 'jti', 'vct', 'cnf', 'status'])

const typeMetadataSchema = () =>
  Type.Object(
    {
      vct: Type.String({ description: 'the type: the address of this document' }),
      name: Type.String(),
      description: Type.String(),
      claims: Type.Array(
        Type.Object({
          path: Type.Array(Type.String()),
          sd: Type.Literal('never'),
          mandatory: Type.Boolean(),
          description: Type.Optional(Type.String()),
        }),
        { description: 'the claims, none of which can be withheld' },
      ),
    },
    { description: 'SD-JWT VC type metadata' },
  )

/** The metadata of the type of a certificate, from the schema of its claims. */
export function certificateTypeMetadata(site: Site) {
  const { properties, required } = certificateClaimsSchema(site.naming)
  const claims = Object.entries(properties)
    .filter(([name]) => !STANDARD.has(name))
    .map(([name, schema]) => {
      const { description } = schema as { readonly description?: string }
      const mandatory = (required as readonly string[]).includes(name)
      return { path: [name], sd: 'never', mandatory, ...(description ? { description } : {}) }
    })
  return {
    schema: typeMetadataSchema(),
    body: {
      vct: site.baseUrl + CERTIFICATE_TYPE_PATH,
      name: 'Agent certificate',
      description:
        'States which key a software agent has, how its owner’s identity was verified, and its grade. Valid only with a signature by that key.',
      claims,
    },
  }
}
