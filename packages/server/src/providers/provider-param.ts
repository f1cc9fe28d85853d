import { Type } from 'typebox'

/** Which identity provider a path is about. */
export const providerParam = () =>
  Type.Object({
    provider: Type.String({ minLength: 1, maxLength: 64, description: 'the id of a provider' }),
  })
