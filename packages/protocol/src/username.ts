import { CodedError } from './errors.ts'
import { USERNAME_PATTERN } from './text.ts'

/** Names that could be taken for the service, an authority or one of the service's pages. */
const RESERVED = new Set(
  `about abuse account accounts admin administrator agent agents api app apps assets avatar badge billing blog
   card cards certificate certificates check claim claims contact countersign dashboard did docs download email
   error faq favicon health help home host identity index info issuer legal login logout mail me moderator new
   news noreply null official operator owner owners press privacy profile register revoked robots root security
   service session settings sign-in sign-out sign-up signin signout signup site staff static status support
   suspended sysadmin system team terms test token trust undefined unverified user users verified verify
   webhook webhooks webmaster well-known wellknown www`.split(/\s+/),
)

/** Character sequences that look alike, longest first. */
const LOOKALIKES: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/cl/g, 'd'],
  [/[1il]/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
  [/2/g, 'z'],
  [/8/g, 'b'],
  [/-/g, ''],
]

/**
 * The skeleton of a username. Names that look alike have the same skeleton, so that a unique index on it prevents `paypa1`
 * beside `paypal`.
 */
export function usernameSkeleton(username: string): string {
  return LOOKALIKES.reduce((shape, [each, same]) => shape.replaceAll(each, same), username)
}

const RESERVED_SHAPES = new Set([...RESERVED].map(usernameSkeleton))

/**
 * Checks a username of an owner or an agent (docs/contract/resources.md): 3 to 32 of `[a-z0-9-]`, no hyphen at
 * either end or doubled, not reserved, nothing that could be read as the tail of a DID.
 * @param naming whose short name is reserved too
 * @throws CodedError VALIDATION_ERROR
 */
export function requireUsername(naming: { readonly shortName: string }, username: string): void {
  if (!USERNAME_PATTERN.test(username)) {
    refuse('A username has 3 to 32 characters of a-z, 0-9 and -.')
  }
  if (/^-|-$|--/.test(username))
    refuse('A username must not begin or end with a hyphen, or contain two in a row.')
  // A tail can be all lower case, so a username of its length needs a hyphen to differ from one.
  if (username.length === 24 && !username.includes('-')) {
    refuse(
      'A username of 24 characters must contain a hyphen, so that it cannot be mistaken for the tail of a DID.',
    )
  }
  const shape = usernameSkeleton(username)
  if (RESERVED_SHAPES.has(shape) || shape === usernameSkeleton(naming.shortName)) {
    refuse(`The username ${username} is reserved.`)
  }
}

function refuse(message: string): never {
  throw new CodedError('VALIDATION_ERROR', message)
}
