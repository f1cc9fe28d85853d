import { Type } from 'typebox'
import { DISPLAY_NAME_PATTERN, USERNAME_PATTERN } from '../text.ts'

export const username = () =>
  Type.String({
    pattern: USERNAME_PATTERN.source,
    description: 'a username: 3 to 32 characters out of a-z, 0-9 and -',
  })

export const displayName = () =>
  Type.String({
    pattern: DISPLAY_NAME_PATTERN.source,
    description:
      'a name of 1 to 64 characters, some of them visible, without control characters and text direction overrides',
  })
