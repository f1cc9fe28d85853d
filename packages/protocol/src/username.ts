import { CodedError } from './errors.ts'
import { USERNAME_PATTERN } from './text.ts'

/** Words that would read as the service itself, as an authority, or as a page of ours. */
const RESERVED = new Set(
  `about abuse account accounts admin administrator agent agents api app apps assets avatar badge billing blog
   card cards certificate certificates check claim claims contact countersign dashboard did docs download email
   error faq favicon health help home host identity index info issuer legal login logout mail me moderator new
   news noreply null official operator owner owners press privacy profile register revoked robots root security
   service session settings sign-in sign-out sign-up signin signout signup site staff static status support
   suspended sysadmin system team terms test token trust undefined unverified user users verified verify
   webhook webhooks webmaster well-known wellknown www`.split(/\s+/),
)

/** What stands for the same shape to a hurried eye, longest first. */
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
 * The shape of a username: two that look alike have the same one, so that uniqueness of shapes keeps
 * `paypa1` from standing beside `paypal`.
 */
export function usernameSkeleton(username: string): string {
  return LOOKALIKES.reduce((shape, [each, same]) => shape.replaceAll(each, same), username)
}

const RESERVED_SHAPES = new Set([...RESERVED].map(usernameSkeleton))

/**
 * Checks what a username may be, whoever has it (docs/contract-notes.md): 3 to 32 of `[a-z0-9-]`, no hyphen at
 * either end or doubled, not reserved, nothing that could be read as the tail of a DID.
 * @param naming whose short name is reserved too
 * @throws CodedError VALIDATION_ERROR
 */
export function requireUsername(naming: { readonly shortName: string }, username: string): void {
  if (!USERNAME_PATTERN.test(username)) {
    refuse('A username has 3 to 32 characters out of a-z, 0-9 and -.')
  }
  if (/^-|-$|--/.test(username))
    refuse('A username has no hyphen at its ends, and no two in a row.')
  // A tail may be all lower case: at its length, a name without a hyphen could be taken for one.
  if (username.length === 24 && !username.includes('-')) {
    refuse(
      'A username of 24 characters has a hyphen, so that nobody takes it for the tail of a DID.',
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
