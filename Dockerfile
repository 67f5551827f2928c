# Firn in a container: the launcher and its lib folder on a Java runtime, as a user without rights.
#
#   docker build -t firn .
#   docker run --rm --read-only --memory 4g -e FIRN_CATALOG_LAKE_TYPE=rest \
#     -e FIRN_CATALOG_LAKE_URI=https://catalog.example.com firn compact lake.sales.orders
#
# Other base images, e.g. those of a mirror, by --build-arg. The runtime needs glibc, libstdc++
# (Arrow's native Parquet reader) and bash (the launcher): Alpine has neither of the first two.
ARG BUILD_IMAGE=maven:3-eclipse-temurin-25
ARG RUNTIME_IMAGE=eclipse-temurin:25-jre

FROM ${BUILD_IMAGE} AS build
# More flags for Maven, e.g. "-s settings.xml".
ARG MAVEN_FLAGS=
WORKDIR /src
COPY . .
RUN mvn -B -q -Dquick -Dmaven.test.skip=true ${MAVEN_FLAGS} -pl engine -am package

FROM ${RUNTIME_IMAGE}
ARG VERSION=dev
LABEL org.opencontainers.image.title="Firn" \
      org.opencontainers.image.description="Compaction of Apache Iceberg tables" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
# Hadoop, which some catalogs and file systems need, refuses a user that has no name.
RUN echo 'firn:x:65532:65532:firn:/tmp:/bin/bash' >> /etc/passwd \
    && echo 'firn:x:65532:' >> /etc/group
COPY --from=build /src/engine/target/dist/lib /opt/firn/lib
COPY --from=build /src/firn /opt/firn/firn
# File names in UTF-8 need a locale that is.
ENV LANG=C.UTF-8 \
    HOME=/tmp \
    PATH="/opt/firn:${PATH}"
# With an archive of classes a start takes half the time, and a pod for each partition pays it.
RUN FIRN_ARCHIVE=make /opt/firn/firn || cat /opt/firn/classes-*.log
# The only place that Firn writes to: row groups in flight, native libraries, the demo's tables.
# It must not be mounted noexec.
VOLUME /tmp
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["/opt/firn/firn"]
CMD ["--help"]
