import { Link } from '@tanstack/react-router'

interface BackToAgentProps {
  readonly did: string
  /** Undefined until it is known. */
  readonly name: string | undefined
}

/** The way back from a page about an agent's channels. */
export function BackToAgent({ did, name = 'The agent' }: BackToAgentProps) {
  return (
    <Link
      to="/agents/$did"
      params={{ did }}
      hash="channels"
      className="w-fit max-w-full truncate text-accent underline"
    >
      {name}
    </Link>
  )
}
