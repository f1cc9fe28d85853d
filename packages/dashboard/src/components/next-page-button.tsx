import type { ReactNode } from 'react'
import { Button } from './button.tsx'

interface Props {
  /** A list that is read page by page. */
  readonly list: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => Promise<unknown>
  }
  readonly children: ReactNode
}

/** Shows the next page of a list below it, as long as there is one. */
export function NextPageButton({ list, children }: Props) {
  if (!list.hasNextPage) return null
  return (
    <Button
      size="small"
      className="self-start"
      pending={list.isFetchingNextPage}
      onClick={() => void list.fetchNextPage()}
    >
      {children}
    </Button>
  )
}
