/** A port of this machine whose connections are led elsewhere. */
export interface TcpListener {
  readonly address: string;
  readonly port: number;
  /** Resolves when it listens no more and all its connections have ended. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly address: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly onConnectionError: (error: unknown) => void;
}
