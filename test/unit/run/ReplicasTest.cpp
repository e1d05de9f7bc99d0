// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances of a program as ranks: who starts, whose output has a prefix, whose failure counts.
#include "Run/Replicas.h"
#include <gtest/gtest.h>

using namespace mx::run;

namespace {

constexpr mxrt_location here = {"program.mx", 3, 7};

/// The code of `dist.local(workers)`, MXRT_OK where the rank joined.
mxrt_code join(Replica &replica, int workers) {
  auto joined = replica.join(workers, here);
  return joined.ok() ? MXRT_OK : joined.takeStatus().code();
}

TEST(Replicas, AProgramWithoutRanksIsAlone) {
  std::ostringstream out, err;
  Launched launched;
  Replicas replicas(out, err, launched, [](Replica &, int, std::ostream &, std::ostream &) {
    ADD_FAILURE() << "nothing asked for another instance";
    return true;
  });
  EXPECT_EQ(replicas.first().judge(MXRT_ASSERTION), Replica::Verdict::Alone);
  replicas.out() << "hello\n" << std::flush;
  EXPECT_TRUE(replicas.finish(true));
  EXPECT_EQ(out.str(), "hello\n");
  EXPECT_EQ(err.str(), "");
}

TEST(Replicas, EachFurtherInstanceRunsOnceAndHasAPrefix) {
  std::ostringstream out, err;
  Launched launched;
  std::atomic<int> ran{0};
  {
    Replicas replicas(out, err, launched,
                      [&](Replica &replica, int threads, std::ostream &own, std::ostream &) {
                        ++ran;
                        EXPECT_GE(threads, 1);
                        EXPECT_EQ(join(replica, 3), MXRT_OK);
                        own << "from " << replica.name() << "\n" << std::flush;
                        return true;
                      });
    EXPECT_EQ(join(replicas.first(), 3), MXRT_OK);
    EXPECT_EQ(replicas.first().name(), "rank 0 of 3");
    EXPECT_EQ(replicas.first().rank(), 0);
    replicas.out() << "from rank 0\n" << std::flush;
    EXPECT_TRUE(replicas.finish(true));
  }
  EXPECT_EQ(ran, 2);
  std::string text = out.str();
  for (const char *line : {"from rank 0\n", "[1] from rank 1 of 3\n", "[2] from rank 2 of 3\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
  EXPECT_EQ(err.str(), "");
}

TEST(Replicas, OtherNumbersOfWorkersAreRefused) {
  std::ostringstream out, err;
  Launched launched;
  std::atomic<int> refused{0};
  Replicas replicas(out, err, launched, [&](Replica &replica, int, std::ostream &, std::ostream &) {
    EXPECT_EQ(join(replica, 2), MXRT_OK);
    refused += join(replica, 3) == MXRT_KVSTORE_MODE;
    return true;
  });
  EXPECT_EQ(join(replicas.first(), 2), MXRT_OK);
  EXPECT_EQ(join(replicas.first(), 4), MXRT_KVSTORE_MODE);
  EXPECT_TRUE(replicas.finish(true));
  EXPECT_EQ(refused, 1);
}

TEST(Replicas, AFailureOfAnyRankIsTheProgramsAndIsReported) {
  std::ostringstream out, err;
  Launched launched;
  Replicas replicas(out, err, launched, [](Replica &replica, int, std::ostream &, std::ostream &) {
    EXPECT_EQ(join(replica, 2), MXRT_OK);
    Replica::Verdict verdict = replica.judge(MXRT_ASSERTION);
    EXPECT_EQ(verdict, Replica::Verdict::Report);
    replica.report(verdict, "it failed\n");
    return false;
  });
  EXPECT_EQ(join(replicas.first(), 2), MXRT_OK);
  EXPECT_FALSE(replicas.finish(true));
  EXPECT_NE(err.str().find("it failed"), std::string::npos) << err.str();
}

TEST(Replicas, FilesOfFurtherRanksNameTheRank) {
  EXPECT_EQ(folderOfRank("runs/a", 0), "runs/a");
  EXPECT_EQ(folderOfRank("runs/a", 1), "runs/a/rank1");
  EXPECT_EQ(fileOfRank("trace.json", 0), "trace.json");
  EXPECT_EQ(fileOfRank("out/trace.json", 2), "out/trace.rank2.json");
}

} // namespace
