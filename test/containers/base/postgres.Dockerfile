# In place of docker.io/library/postgres:18: Debian, the server of @embedded-postgres, and the clients of Debian. As in the
# published image, the entry point sets up the cluster behind a socket first, and only then listens on the network.
FROM localhost/forecourt-debian
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-client-15 \
  && rm -r /var/lib/apt/lists \
  && useradd --system --uid 999 --home-dir /var/lib/postgresql postgres \
  && install --directory --owner=postgres --group=postgres --mode=3777 /var/run/postgresql \
  && install --directory --owner=postgres --group=postgres /var/lib/postgresql
COPY native /usr/lib/postgresql/18
COPY entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=$PATH:/usr/lib/postgresql/18/bin:/usr/lib/postgresql/15/bin PGDATA=/var/lib/postgresql/18/docker
VOLUME /var/lib/postgresql
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
