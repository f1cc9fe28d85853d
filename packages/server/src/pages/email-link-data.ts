/** What the page of a link in an e-mail shows. */
export type EmailLinkPageData =
  | {
      readonly kind: 'verify'
      readonly token: string
      readonly address: string
      readonly username: string
    }
  | { readonly kind: 'verified'; readonly address: string; readonly username: string }
  | { readonly kind: 'unsubscribe'; readonly token: string; readonly label: string }
  | { readonly kind: 'unsubscribed'; readonly label: string }
  | { readonly kind: 'invalid'; readonly link: 'verify' | 'unsubscribe' }

/** An e-mail of the development outbox. */
export interface DevelopmentEmail {
  readonly to: string
  readonly subject: string
  readonly text: string
}
